/** Reads a file as a data URL: data:image/png;base64,iVBO… */
export const dataURL = (file: File) =>
  new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });

/** The base64 part of a data URL. */
export const base64Of = (url: string) => url.slice(url.indexOf(",") + 1);

/** A file's content in base64, as the interface takes it. */
export const base64 = async (file: File) => base64Of(await dataURL(file));
