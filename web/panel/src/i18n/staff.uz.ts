import { gather } from "./gather";

export default gather(import.meta.glob("../**/staff*/texts.uz.json", { eager: true, import: "default" }));
