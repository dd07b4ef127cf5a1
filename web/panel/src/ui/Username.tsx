import { boot } from "~/app/boot";

/** Tells password managers whose password a form asks for. Nobody sees it or reaches it with the keyboard. */
export function Username() {
  return (
    <input
      className="visually-hidden"
      autoComplete="username"
      readOnly
      tabIndex={-1}
      aria-hidden
      value={boot.account?.email ?? ""}
    />
  );
}
