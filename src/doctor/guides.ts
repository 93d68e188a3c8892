/** Where each check is explained: a page of docs/guides, with the section. A test checks that each exists. */
import { LIVE_CHECKS } from '#src/going-live/checks.ts'

const STORES = 'operations#requirements-of-the-stores'
const CLOCKS = 'operations#clocks'

const GUIDES: Readonly<Record<string, string>> = {
  'Node.js': 'getting-started',
  notices: 'operations#notices',
  suspensions: 'operations#suspend-and-resume-mail',
  mode: 'going-live#4-write-the-settings',
  disk: 'operations',
  PostgreSQL: STORES,
  'PostgreSQL connections': STORES,
  migrations: 'operations',
  clock: CLOCKS,
  'process clocks': CLOCKS,
  'master key': 'going-live#9-before-you-serve-customers',
  DNS: 'troubleshooting',
  DNSSEC: 'transport-security',
  bounces: 'bounces-and-complaints',
  'return-path': 'sending-domains#records',
  'sender DMARC': 'sending-domains#records',
  'DKIM keys': 'dkim-rotation',
  'operator DKIM': 'feedback-loops#sign-with-your-own-domain',
  'TLS reports': 'transport-security',
  'hosted mail': 'open-and-click-tracking#a-host-of-its-own',
  'plain HTTP': 'going-live#9-before-you-serve-customers',
  'queue age': 'troubleshooting',
  retention: 'retention-and-erasure#what-is-deleted-when',
  backup: 'backup',
  'certificate names': 'certificates#choose-a-challenge',
  'certificate ports': 'certificates#switch-it-on',
  'certificate authority': 'certificates#another-authority',
  'CAA records': 'certificates#which-names',
  ...Object.fromEntries(Object.entries(LIVE_CHECKS).map(([name, { anchor }]) => [name, `going-live#${anchor}`])),
}

/** A path in this project, such as docs/guides/going-live.md#1-prepare-the-host. */
export function guideOf(check: string): string {
  const guide = GUIDES[check] ?? (check.startsWith('egress ') ? 'sending-ips-and-pools' : STORES)
  const [page = '', section] = guide.split('#')
  return `docs/guides/${page}.md${section === undefined ? '' : `#${section}`}`
}

/** Where a running api shows it. */
export function guideUrlOf(check: string, publicUrl: string): string {
  return `${publicUrl}/${guideOf(check).replace(/\.md(?=#|$)/, '')}`
}
