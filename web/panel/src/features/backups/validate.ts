import type { Part, Restore } from "./api";

export interface Wish {
  /** Everything of the backup, single files and folders, one database, or chosen parts. */
  what: "all" | "paths" | "database" | "parts";
  /** One path on each line. */
  paths: string;
  database: string;
  parts: Part[];
  /** Put files into this directory, beside what is there. */
  beside: boolean;
  target: string;
}

const pathsOf = (text: string) =>
  text
    .split("\n")
    .map((path) => path.trim())
    .filter(Boolean)
    .map((path) => (path.startsWith("/") ? path : "/" + path));

/** Why a restore cannot begin, as the name of a text; null when it can. The server remains the judge. */
export function wishProblem(
  wish: Wish,
): "problem.paths" | "problem.many" | "problem.database" | "problem.parts" | "problem.target" | null {
  if (wish.what === "paths") {
    const paths = pathsOf(wish.paths);
    if (paths.length === 0) return "problem.paths";
    if (paths.length > 100) return "problem.many";
    if (wish.beside && pathsOf(wish.target).length !== 1) return "problem.target";
  }
  if (wish.what === "database" && wish.database.trim() === "") return "problem.database";
  if (wish.what === "parts" && wish.parts.length === 0) return "problem.parts";
  return null;
}

/** The request for a wish. */
export function bodyOf(wish: Wish): Restore {
  switch (wish.what) {
    case "all":
      return {};
    case "paths":
      return {
        parts: ["files"],
        items: pathsOf(wish.paths),
        target: wish.beside ? pathsOf(wish.target)[0] : undefined,
      };
    case "database":
      return { parts: ["databases"], items: [wish.database.trim()] };
    case "parts":
      return { parts: wish.parts };
  }
}
