// What stands for an application that is built by the chat: a frame that is loaded anew, by another address, whenever its
// files may have changed. Nothing is restarted for it.
export function Preview({ reloadKey }) {
  return (
    <section className="preview" aria-label="Preview" data-testid="preview">
      <p>Loaded anew after every answer and every restore, by its address: <code data-testid="reload-key">?_t={reloadKey}</code></p>
      <iframe src={`preview.html?_t=${reloadKey}`} title="Preview of what the chat builds" sandbox="allow-scripts" />
    </section>
  );
}
