// Refreshes the system page every few seconds.
import { refreshForever } from "./takeover.js";

refreshForever("system", "banners");
