import { gather } from "./gather";

export default gather(
  import.meta.glob(
    ["../{app,ui}/**/texts.uz.json", "../features/{client,help,overview}/texts.uz.json", "!../**/staff*/**"],
    { eager: true, import: "default" },
  ),
);
