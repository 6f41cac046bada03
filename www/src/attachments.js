// Images beside a prompt. They go into the `ui` part of its checkpoint, as data URLs, which the store keeps once, as bytes.
export const MOST = 5;
const MAX_BYTES = 4 * 1024 * 1024;

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ id: crypto.randomUUID(), dataUrl: reader.result, source: "clipboard", filename: file.name });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

export const isImage = ({ type }) => type.startsWith("image/");

/** The images that were kept beside a prompt. Whatever else another program may have stored there is none. */
export const keptImages = ({ screenshots }) => (Array.isArray(screenshots) ? screenshots : []).filter((image) =>
  typeof image?.id === "string" && /^data:image\//.test(image.dataUrl) && ["string", "undefined"].includes(typeof image.filename));

/** The images among some files, and why others are left out: `{ images, refused }`. */
export async function imagesOf(files, room) {
  const all = [...files];
  const fit = all.filter((file) => isImage(file) && file.size <= MAX_BYTES);
  const images = await Promise.all(fit.slice(0, room).map(read));
  const reasons = [
    fit.length < all.length && "only images of at most 4 MB can be attached",
    fit.length > room && `at most ${MOST} images go with a message`,
  ].filter(Boolean);
  return { images, refused: reasons.join("; ") };
}
