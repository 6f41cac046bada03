// Where the focus goes when what had it is gone.

/** Once the page has been updated. */
const soon = (find) => requestAnimationFrame(() => find()?.focus());

export const focusComposer = () => soon(() => document.getElementById("composer"));
export const focusOn = (ref) => soon(() => ref.current);
