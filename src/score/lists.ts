/**
 * Lists of addresses that are less than a person's own: functions (RFC 2142, and names that are used like those) and domains that give out
 * addresses for a few minutes. The list of domains is long; it is kept as the text it comes as, and a domain is looked for in it.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import wildcards from 'disposable-email-domains/wildcard.json' with { type: 'json' }

/** Business, network, support and mail (RFC 2142 sections 3 to 5), then what is common. */
const ROLES = new Set([
  'info', 'marketing', 'sales', 'support',
  'abuse', 'noc', 'security',
  'postmaster', 'hostmaster', 'usenet', 'news', 'webmaster', 'www', 'uucp', 'ftp',
  'admin', 'administrator', 'billing', 'contact', 'help', 'helpdesk', 'hello', 'hr', 'jobs', 'mail', 'mailer-daemon', 'no-reply', 'noreply',
  'office', 'orders', 'press', 'privacy', 'root', 'service', 'team',
])

/** What stands behind a plus is the person's own business. */
export function isRole(local: string): boolean {
  return ROLES.has(local.toLowerCase().split('+')[0] ?? '')
}

export type IsDisposable = (domain: string) => boolean

/** Reads the list; 2.5 MB. */
export function loadDisposable(): IsDisposable {
  const list = readFileSync(fileURLToPath(import.meta.resolve('disposable-email-domains')))
  const parents = new Set<string>(wildcards)
  return (domain) => list.includes(`"${domain}"`) || domain.split('.').some((_, i, labels) => parents.has(labels.slice(i).join('.')))
}
