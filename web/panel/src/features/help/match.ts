/** Whether each word of what is sought begins a word of one of the texts. Letters count without case and accents. */
export function matches(sought: string, texts: readonly string[]): boolean {
  const plain = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = texts.flatMap((text) => plain(text).split(/[\s/.,:()-]+/));
  return plain(sought)
    .split(/\s+/)
    .filter(Boolean)
    .every((part) => words.some((word) => word.startsWith(part)));
}
