// Line icons, 20 units square. Always decoration: whatever uses one has a name of its own.

const PATHS = {
  plus: "M10 4v12M4 10h12",
  send: "M10 16V4M10 4l-5 5M10 4l5 5",
  stop: "M6 6h8v8H6z",
  undo: "M4 8h8a4 4 0 0 1 0 8H8M4 8l3.5-3.5M4 8l3.5 3.5",
  redo: "M16 8H8a4 4 0 0 0 0 8h4M16 8l-3.5-3.5M16 8l-3.5 3.5",
  rollback: "M4.2 9.5a6 6 0 1 1 1.3 4.3M4 5.5v4h4M10 7v3.2l2.2 1.6",
  fork: "M6 7.5v5M6 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm0 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM14 9.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm0 0c0 3-8 1-8 3.5",
  compare: "M7 4 3.5 7.5 7 11M3.5 7.5h10M13 9l3.5 3.5L13 16M16.5 12.5h-10",
  regenerate: "M15.5 8A6 6 0 0 0 4.6 7.4M4.5 12a6 6 0 0 0 10.9.6M15.8 4.2V8H12M4.2 15.8V12H8",
  edit: "m12.5 4.5 3 3L7 16H4v-3zM11 6l3 3",
  trash: "M4.5 6h11M8 6V4.3h4V6M6 6l.7 10h6.6L14 6M8.6 9v4M11.4 9v4",
  copy: "M7.5 7.5h8v8h-8zM4.5 12.5v-8h8",
  check: "m4.5 10.5 3.7 3.7L15.5 6.5",
  close: "m5.5 5.5 9 9M14.5 5.5l-9 9",
  import: "M10 4v8.5M10 12.5 6.5 9M10 12.5 13.5 9M4 13v3h12v-3",
  export: "M10 12.5V4M10 4 6.5 7.5M10 4l3.5 3.5M4 13v3h12v-3",
  storage: "M4 6.2C4 5 6.7 4 10 4s6 1 6 2.2S13.3 8.4 10 8.4 4 7.4 4 6.2zm0 0v7.6C4 15 6.7 16 10 16s6-1 6-2.2V6.2M4 10c0 1.2 2.7 2.2 6 2.2s6-1 6-2.2",
  sun: "M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 2.8v1.6M10 15.6v1.6M2.8 10h1.6M15.6 10h1.6M4.9 4.9 6 6M14 14l1.1 1.1M15.1 4.9 14 6M6 14l-1.1 1.1",
  moon: "M16 11.8A6.5 6.5 0 0 1 8.2 4a6.5 6.5 0 1 0 7.8 7.8z",
  auto: "M10 3.5a6.5 6.5 0 1 0 0 13zM10 3.5a6.5 6.5 0 0 1 0 13",
  chats: "M4 5.5h12M4 10h12M4 14.5h7",
  chat: "M4 5h12v8H9l-3.5 3v-3H4z",
  timeline: "M7 4v12M7 6.5h.01M7 13.5h.01M10.5 6.5H16M10.5 10H14M10.5 13.5H16",
  pin: "m12 3.5 4.5 4.5-2 .5-2.7 2.7-.3 3.3-6-6 3.3-.3L11.5 5.5zM8 12l-4 4",
  warning: "M10 4 17 16H3zM10 8.5v3.2M10 13.8v.01",
  preview: "M3.5 5h13v10h-13zM3.5 8h13",
  image: "M3.5 4.5h13v11h-13zM3.5 13l3.5-3.5 3 3 2.5-2.5 4 4M12.5 8h.01",
  swap: "M6 4v12M6 16l-2.5-2.5M6 16l2.5-2.5M14 16V4M14 4l-2.5 2.5M14 4l2.5 2.5",
};

export function Icon({ name, size = 18 }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

export function Mark({ size = 28 }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="mark-back" />
      <path d="M10 6.5h12v19l-6-4.6-6 4.6z" fill="none" stroke="currentColor" strokeWidth="2.4" strokeLinejoin="round" />
      <path d="M13 13.2h4.2a2 2 0 0 1 0 4H14M13 13.2l1.8-1.8M13 13.2l1.8 1.8" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
