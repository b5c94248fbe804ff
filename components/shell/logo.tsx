/** The logo: a key that is also a lease. */
export function Logo() {
  return (
    <span className="flex items-center gap-2 font-semibold text-base tracking-tight">
      <svg aria-hidden viewBox="0 0 32 32" className="size-6">
        <rect width="32" height="32" rx="8" fill="#3a49d6" />
        <circle cx="16" cy="11.5" r="4.5" fill="none" stroke="#fff" strokeWidth="3" />
        <path d="M16 16v9.5M16 21h5M16 25h3.5" fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
      </svg>
      Leasehold
    </span>
  );
}
