import { base64 } from "~/ui/base64";

/** How many files a message has, and how large they are together. */
const most = 5;
const largest = 3 * 1024 * 1024;

/** Whether files may go with one message. */
export const fits = (files: { size: number }[]) =>
  files.length <= most && files.reduce((sum, file) => sum + file.size, 0) <= largest;

/** A file as the interface takes it: its content in base64. */
export const encode = async (file: File) => ({ name: file.name, content: await base64(file) });
