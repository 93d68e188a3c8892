/**
 * Finds what looks like an address in any text, such as a report that cannot be parsed. Only addresses in plain text
 * are found, not those in a base64 body. The time grows with the length of the text, whatever is in it. Pure.
 */

const MAX_LOCAL = 64
const MAX_DOMAIN = 255
/** What ends an address in headers, in texts and in HTML. */
const LOCAL = /[^\s<>()[\]:;,"\\]+$/
const DOMAIN = /^[a-z\d][a-z\d.-]*[a-z\d]/i

/** Each address once, as it is written. */
export function listAddresses(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const [local] = LOCAL.exec(text.slice(Math.max(0, at - MAX_LOCAL), at)) ?? []
    const [domain] = DOMAIN.exec(text.slice(at + 1, at + 1 + MAX_DOMAIN)) ?? []
    if (local !== undefined && domain !== undefined) found.add(`${local}@${domain}`)
  }
  return found
}
