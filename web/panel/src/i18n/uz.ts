import { gather } from "./gather";

export default gather(
  import.meta.glob(["../**/texts.uz.json", "!../**/staff*/**"], { eager: true, import: "default" }),
);
