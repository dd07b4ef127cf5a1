/** The largest picture, in bytes. The server remains the judge. */
export const maxPicture = 2 << 20;

/** A name for a picture that is made of its file's: small Latin letters, digits and hyphens, with the ending of the type. */
export function pictureName(file: string) {
  const dot = file.lastIndexOf(".");
  const ending = dot > 0 ? file.slice(dot).toLowerCase() : "";
  const name = (dot > 0 ? file.slice(0, dot) : file)
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 70)
    .replace(/-+$/, "");
  return (name || "picture") + ending;
}

/** The Markdown that shows a picture. What would end the text for those who do not see it is written as a letter. */
export const pictureMark = (alt: string, path: string) =>
  `![${alt
    .trim()
    .replace(/\s+/g, " ")
    .replace(/[\\[\]]/g, "\\$&")}](${path})`;

/** A text with a paragraph of its own at a place. */
export function inserted(text: string, at: number, paragraph: string) {
  const before = text.slice(0, at).replace(/\n*$/, "");
  const after = text.slice(at).replace(/^\n*/, "");
  return `${before ? `${before}\n\n` : ""}${paragraph}\n${after ? `\n${after}` : ""}`;
}
