/** Loads the application, all files that its first page needs at once: else one would be asked for after the other. */
const run = () => {
  const files = document.querySelector<HTMLMetaElement>('meta[name="files"]')?.content ?? "";
  for (const file of files.split(" ")) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = file;
    document.head.append(link);
  }
  void import("./main");
};

// First the browser paints what the server has drawn: the application's files would share a slow line with the styles, and its
// start takes the processor for a while. A page that nobody sees is not painted.
if (document.hidden) run();
else requestAnimationFrame(() => setTimeout(run));
