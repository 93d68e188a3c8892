/** The address in a field of a report: after its type, without brackets, name, route or comment (RFC 3464 2.3.1, RFC 5322 4.4). */
import { parseAddress } from '#src/mail/address.ts'

/** Null where there is none, such as in a local name. */
export function bareAddress(value: string): string | null {
  const written = value.replace(/^\s*[\w-]+\s*;/, '').replace(/\([^)]*\)\s*$/, '').trim()
  const inner = /<([^<>]*)>[\s.;,]*$/.exec(written)?.[1] ?? written.replace(/[;,]+$/, '')
  const text = inner.replace(/^@[^:]*:/, '').replace(/^(?:smtp|mailto):/i, '').trim()
  return parseAddress(text).ok || /^[^\s@<>]+@[^\s@<>]+$/.test(text) ? text : null
}

/** Of a field that holds several. */
export function bareAddresses(value: string | null): string[] {
  return (value ?? '').split(',').map((one) => bareAddress(one.trim())).filter((address) => address !== null)
}
