import { gather } from "./gather";

export default gather(import.meta.glob("../**/staff*/texts.en.json", { eager: true, import: "default" }));
