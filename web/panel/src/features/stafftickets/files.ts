/** How many files a message has, and how large they are together. */
const most = 5;
const largest = 3 * 1024 * 1024;

/** Whether files may go with one message. */
export const fits = (files: { size: number }[]) =>
  files.length <= most && files.reduce((sum, file) => sum + file.size, 0) <= largest;

/** A file as the interface takes it: its content in base64. */
export const encode = (file: File) =>
  new Promise<{ name: string; content: string }>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, content: String(reader.result).replace(/^[^,]*,/, "") });
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
