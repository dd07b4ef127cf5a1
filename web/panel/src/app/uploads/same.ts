/** Whether a stream brings the content of a file. It is cancelled at the first difference. */
export async function isSameContent(file: Blob, stream: ReadableStream<Uint8Array> | null): Promise<boolean> {
  if (!stream) return file.size === 0;
  const reader = stream.getReader();
  for (let at = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return at === file.size;
    const own = new Uint8Array(await file.slice(at, at + value.length).arrayBuffer());
    if (own.length !== value.length || own.some((byte, n) => byte !== value[n])) {
      await reader.cancel();
      return false;
    }
    at += value.length;
  }
}
