import { gather } from "./gather";

export default gather(
  import.meta.glob(["../**/texts.en.json", "!../**/staff*/**"], { eager: true, import: "default" }),
);
