import { gather } from "./gather";

export default gather(
  import.meta.glob(
    ["../{app,ui}/**/texts.en.json", "../features/{client,help,overview}/texts.en.json", "!../**/staff*/**"],
    { eager: true, import: "default" },
  ),
);
