/** Whom a page is made for. */
export interface SignIn {
  /** An account and a reseller's client have sessions of their own in one browser. */
  kind: "account" | "client";
  holder: string;
}

/** Whom the page of this boot data is made for. */
export const signInOf = ({ client, holder }: { client: object | null; holder: string }): SignIn => ({
  kind: client ? "client" : "account",
  holder,
});

/** What a page does when it hears who has signed in: it goes on, it is somebody else's now, or it is not about its session. */
export function onSignIn(heard: SignIn, own: SignIn): "resume" | "leave" | "ignore" {
  if (heard.kind !== own.kind) return "ignore";
  return heard.holder === own.holder ? "resume" : "leave";
}
