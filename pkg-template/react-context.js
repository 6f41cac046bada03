// Where a provider leaves its store for the hooks; apart, because all parts of `turnmark/react` need it.

import { createContext, useContext } from "react";
import { TurnmarkError } from "./errors.js";

/** `{ snapshot, report, use }`: another one with every change of the snapshot. */
export const Connection = createContext(null);
/** `{ report, use }`: for whoever only acts, and has no reason to render when the store opens. */
export const Access = createContext(null);

function useProvided(context, hook) {
  const provided = useContext(context);
  if (provided) return provided;
  throw new TurnmarkError("InvalidArgument", `${hook} was called outside of a <TurnmarkProvider>. Put one above the component that calls it.`);
}

export const useConnection = (hook) => useProvided(Connection, hook);
export const useAccess = (hook) => useProvided(Access, hook);
