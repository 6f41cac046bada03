/** The release. A test holds it equal to package.json and Cargo.toml. */
export const VERSION = "0.1.0";
