// The list of chats, read once for everything that shows it, and not at all while a file is being imported: reading all
// chats again after each of thousands of checkpoints would take longer than writing them.
import { createContext, useContext, useEffect, useState } from "react";
import { useSessions } from "turnmark/react";
import { useReported } from "./notices.jsx";

const NOTHING = { sessions: [], loading: true };
const List = createContext(NOTHING);

/** `{ sessions, loading }`, newest first. */
export const useSessionList = () => useContext(List);

export function SessionList({ paused, children }) {
  const [list, setList] = useState(NOTHING);
  return (
    <List value={list}>
      {!paused && <Watch setList={setList} />}
      {children}
    </List>
  );
}

function Watch({ setList }) {
  const { sessions, loading, error } = useSessions();
  useReported(error);
  useEffect(() => {
    if (!loading) setList({ sessions, loading });
  }, [sessions, loading, setList]);
  return null;
}
