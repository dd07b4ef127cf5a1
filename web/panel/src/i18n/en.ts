import { gather } from "./gather";

export default gather(import.meta.glob("../**/texts.en.json", { eager: true, import: "default" }));
