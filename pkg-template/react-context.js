// Where a provider leaves its store for the hooks; apart, because both halves of `turnmark/react` need it.

import { createContext } from "react";

export const Connection = createContext(null);
