/** Times for people: UTC, as in logs and in the API, and beside it the time on the clock of this machine. Pure. */

/** `2026-11-22T11:43:45.473Z (12:43 CET)`; with the date if it differs. Only UTC if the machine's clock shows UTC. */
export function timeText(at: Date, timeZone?: string): string {
  const utc = at.toISOString()
  const local = localText(at, timeZone)
  return local === null ? utc : `${utc} (${local})`
}

/** `2026-11-22 11:43:45`, in UTC, for narrow tables; followed by the local time. */
export function shortTimeText(at: Date, timeZone?: string): string {
  const utc = at.toISOString().slice(0, 19).replace('T', ' ')
  const local = localText(at, timeZone)
  return local === null ? utc : `${utc} (${local})`
}

/** Null if the zone is UTC at this time. */
function localText(at: Date, timeZone?: string): string | null {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...(timeZone === undefined ? {} : { timeZone }),
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const { year = '', month = '', day = '', hour = '', minute = '', timeZoneName = '' } = parts
  const date = `${year}-${month}-${day}`
  const isUtc = `${date}T${hour}:${minute}` === at.toISOString().slice(0, 16)
  if (isUtc) return null
  const isSameDay = at.toISOString().startsWith(date)
  return `${isSameDay ? '' : `${date} `}${hour}:${minute} ${timeZoneName}`
}
