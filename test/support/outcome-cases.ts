/**
 * What the world does to mail, and what we make of it: one row for each trouble, arranged for real and told from outside.
 * docs/outcomes.md is this table; a test runs each row and holds the page equal to it.
 */
import type { Authority, Certificate } from './certificate.ts'
import { ENFORCE, type PolicyHost } from './policy-host.ts'
import type { PostOffice } from './post-office.ts'
import type { ReceiverScript } from './receiver-script.ts'

export interface OutcomeWorld {
  readonly office: PostOffice
  readonly authority: Authority
  readonly policies: PolicyHost
  /** Shown where the row is not about certificates. */
  readonly certificate: Certificate
}

/** `outcome` as `describeOutcome` tells that of the first attempt. */
export interface OutcomeCase {
  readonly what: string
  readonly outcome: string
  readonly arrange: (world: OutcomeWorld, domain: string) => unknown
}

export interface OutcomeGroup {
  readonly title: string
  readonly cases: readonly OutcomeCase[]
}

type Arrange = OutcomeCase['arrange']

function trouble(what: string, outcome: string, arrange: Arrange): OutcomeCase {
  return { what, outcome, arrange }
}

/** A receiver that does so. */
function receiver(script: ReceiverScript): Arrange {
  return ({ office, certificate }, domain) => office.open(domain, { certificate, ...script })
}

/** An answer at one stage. */
function says(stage: keyof NonNullable<ReceiverScript['on']>, reply: string, end?: 'close'): Arrange {
  return receiver({ on: { [stage]: { raw: `${reply}\r\n`, ...(end !== undefined && { end }) } } })
}

function records(
  of: (domain: string) => PostOffice['dns']['zone'][string],
  hosts: PostOffice['dns']['zone'] = {},
): Arrange {
  return ({ office: { dns } }, domain) => {
    dns.zone[domain] = of(domain)
    Object.assign(dns.zone, hosts)
  }
}

/** A good receiver behind records that are not. */
function behind(change: PostOffice['dns']['zone'][string]): Arrange {
  return async (world, domain) => {
    await receiver({})(world, domain)
    world.office.dns.zone[domain] = { ...world.office.dns.zone[domain], ...change }
  }
}

function enforced(script: (world: OutcomeWorld, host: string) => Promise<ReceiverScript> | ReceiverScript): Arrange {
  return async (world, domain) => {
    const { office, policies } = world
    await office.open(domain, await script(world, `mx1.${domain}`))
    policies.publish(office.dns.zone, domain, ENFORCE(`mx1.${domain}`))
  }
}

const DNS: readonly OutcomeCase[] = [
  trouble('The MX look-up gets SERVFAIL', 'deferred, no try: dns', behind({ trouble: 'servfail' })),
  trouble('The MX look-up is refused', 'deferred, no try: dns', behind({ trouble: 'refused' })),
  trouble('The name server is silent', 'deferred, no try: dns', behind({ trouble: 'silence' })),
  trouble('An answer has a foreign id', 'deferred, no try: dns', behind({ trouble: 'wrong-id' })),
  trouble('An answer is to another question', 'deferred, no try: dns', behind({ trouble: 'wrong-question' })),
  trouble('The answer is cut: asked again over TCP', 'delivered', behind({ trouble: 'truncate' })),
  trouble(
    'A circle of aliases',
    'deferred, no try: dns',
    records((domain) => ({ CNAME: domain })),
  ),
  trouble('There is no such domain', 'bounced, hard: no-such-domain', () => undefined),
  trouble(
    'The domain has neither MX nor address',
    'bounced, hard: no-host',
    records(() => ({ TXT: ['v=spf1 -all'] })),
  ),
  trouble(
    'A null MX',
    'bounced, hard: null-mx',
    records(() => ({ MX: [[0, '.']] })),
  ),
  trouble('A null MX among others, which is ignored', 'delivered', async (world, domain) => {
    await receiver({})(world, domain)
    world.office.dns.zone[domain] = {
      MX: [
        [0, '.'],
        [10, `mx1.${domain}`],
      ],
    }
  }),
  trouble('The MX is an alias', 'delivered', async (world, domain) => {
    await receiver({})(world, domain)
    Object.assign(world.office.dns.zone, {
      [domain]: { MX: [[10, `alias.${domain}`]] },
      [`alias.${domain}`]: { CNAME: `mx1.${domain}` },
    })
  }),
  trouble(
    'The MX is an IP address',
    'bounced, hard: no-host',
    records(() => ({ MX: [[10, '192.0.2.1']] })),
  ),
  trouble(
    'The MX is localhost',
    'bounced, hard: no-host',
    records(() => ({ MX: [[10, 'localhost']] })),
  ),
  trouble(
    'The MX is this server',
    'bounced, soft: loop',
    records(() => ({ MX: [[10, 'mta.sender.example']] })),
  ),
  trouble(
    'The MX has line breaks, blanks or control characters in its name',
    'bounced, hard: no-host',
    records(() => ({
      MX: [
        [10, 'mx\r\nRCPT TO:<x>'],
        [20, 'a b'],
        [30, '\u{1b}[31m'],
      ],
    })),
  ),
  trouble(
    'The MX has no address',
    'bounced, soft: no-host',
    records(() => ({ MX: [[10, 'nowhere.test']] }), { 'nowhere.test': { TXT: ['x'] } }),
  ),
  trouble(
    'The MX has only private addresses',
    'bounced, soft: no-host',
    records(() => ({ MX: [[10, 'inside.test']] }), { 'inside.test': { A: ['10.0.0.1', '192.168.0.1'] } }),
  ),
  trouble(
    'The address look-up of the MX gets SERVFAIL',
    'deferred, no try: dns',
    records(() => ({ MX: [[10, 'sick.test']] }), { 'sick.test': { trouble: 'servfail' } }),
  ),
  trouble('30 MX, and nobody listens at the best six', 'deferred, no try: unreachable', ({ office }, domain) => {
    for (let i = 0; i < 30; i++) office.openNowhere(domain)
  }),
]

const CONNECTING: readonly OutcomeCase[] = [
  trouble('Nobody listens', 'deferred, no try: unreachable', ({ office }, domain) => office.openNowhere(domain)),
  trouble(
    'Closed without a greeting',
    'deferred, no try: greeting-failed',
    receiver({ on: { greeting: { end: 'close' } } }),
  ),
  trouble('A web server', 'deferred, no try: greeting-failed', says('greeting', 'HTTP/1.1 400 Bad Request')),
  trouble(
    'A greeting of 100 KB',
    'deferred, no try: greeting-failed',
    says('greeting', `220-${'x'.repeat(100_000)}\r\n220 mx`),
  ),
  trouble('421 in the greeting', 'deferred, no try: greeting-refused', says('greeting', '421 4.3.2 Too busy', 'close')),
  trouble(
    '554 in the greeting',
    'deferred, no try: greeting-refused',
    says('greeting', '554 5.7.1 Your address is listed'),
  ),
  trouble('421 at EHLO', 'deferred, no try: ehlo-refused', says('ehlo', '421 4.3.2 Later', 'close')),
  trouble(
    'EHLO and HELO refused',
    'deferred, no try: ehlo-refused',
    receiver({ on: { ehlo: '550 5.7.1 No', helo: '550 5.7.1 No' } }),
  ),
  trouble('EHLO is not known, HELO is', 'delivered', says('ehlo', '502 5.5.1 What?')),
  trouble('Another MX takes it', 'delivered', async (world, domain) => {
    world.office.openNowhere(domain)
    await says('greeting', '554 5.7.1 Not here')(world, domain)
    await receiver({})(world, domain)
  }),
]

const STAGES = [
  ['mail', 'MAIL'],
  ['rcpt', 'RCPT'],
  ['data', 'DATA'],
  ['dot', 'the final dot'],
] as const

const REPLIES: readonly OutcomeCase[] = [
  ...STAGES.flatMap(([stage, name]): OutcomeCase[] => [
    trouble(`421 at ${name}`, 'deferred, no try: system', says(stage, '421 4.3.2 Shutting down', 'close')),
    trouble(`451 at ${name}`, 'deferred, a try: system', says(stage, '451 4.3.0 Later')),
    trouble(
      `Closed at ${name}`,
      stage === 'dot' ? 'unknown: lost-after-dot' : 'deferred, no try: link-lost',
      receiver({ on: { [stage]: { end: 'close' } } }),
    ),
    trouble(
      `An answer without a code at ${name}`,
      stage === 'dot' ? 'unknown: lost-after-dot' : 'deferred, no try: link-lost',
      says(stage, 'all is well'),
    ),
    trouble(
      `An answer with a code that fits nothing at ${name}`,
      stage === 'dot' ? 'unknown: lost-after-dot' : 'deferred, no try: link-lost',
      says(stage, '299-what\r\n999 now'),
    ),
  ]),
  trouble('550 5.1.1 at RCPT', 'bounced, hard: no-such-user', says('rcpt', '550 5.1.1 No such user')),
  trouble(
    '550 without an enhanced code, on several lines',
    'bounced, hard: no-such-user',
    says('rcpt', '550-No such user here,\r\n550-and there never was.\r\n550 Sorry'),
  ),
  trouble(
    '550 in Latin-1, with control characters',
    'bounced, hard: no-such-user',
    receiver({ on: { rcpt: { raw: Buffer.from('550 5.1.1 Empf\xe4nger unbekannt \x1b[31m\x00\r\n', 'latin1') } } }),
  ),
  trouble(
    '550 of 60 KB',
    'bounced, hard: no-such-user',
    says(
      'rcpt',
      Array.from({ length: 60 }, (_, i) => `550${i === 59 ? ' ' : '-'}5.1.1 ${'x'.repeat(990)}`).join('\r\n'),
    ),
  ),
  trouble(
    'An answer of 100 KB',
    'deferred, no try: link-lost',
    says('rcpt', `550-${'x'.repeat(100_000)}\r\n550 5.1.1 No`),
  ),
  trouble('An answer that changes its code', 'deferred, no try: link-lost', says('rcpt', '550-5.1.1 No\r\n250 Yes')),
  trouble('421 at QUIT, after the message was taken', 'delivered', says('quit', '421 4.3.2 Shutting down', 'close')),
  trouble('Silence at QUIT, after the message was taken', 'delivered', receiver({ on: { quit: { end: 'silence' } } })),
  trouble(
    '552 too many recipients, as old servers say it (RFC 5321 4.5.3.1.10)',
    'deferred, a try: throttled',
    says('rcpt', '552 Too many recipients'),
  ),
  trouble('452 too many recipients', 'deferred, a try: throttled', says('rcpt', '452 4.5.3 Too many recipients')),
  trouble('452 disk full', 'deferred, a try: mailbox-full', says('rcpt', '452 4.2.2 Mailbox full')),
  trouble('552 5.2.2 mailbox full', 'bounced, soft: mailbox-full', says('rcpt', '552 5.2.2 Mailbox full')),
  trouble('550 5.7.1 policy', 'bounced, soft: policy', says('rcpt', '550 5.7.1 Not from you')),
  trouble('250 with a 5.x.x status at the final dot: the code decides', 'delivered', says('dot', '250 5.0.0 Taken')),
  trouble(
    '550 with a 4.x.x status: the code decides',
    'bounced, soft: mailbox-disabled',
    says('rcpt', '550 4.2.1 Come again'),
  ),
  trouble('554 at the final dot', 'bounced, soft: spam', says('dot', '554 5.7.1 Looks like spam')),
  trouble('552 5.3.4 message too big', 'bounced, soft: too-large', says('dot', '552 5.3.4 Too big')),
  trouble('250 to DATA', 'deferred, no try: link-lost', says('data', '250 Ok')),
  trouble('354 to the final dot', 'unknown: lost-after-dot', says('dot', '354 more')),
  trouble(
    'Words after 250 to RCPT that nobody asked for',
    'deferred, no try: link-lost',
    receiver({ offers: { pipelining: false }, on: { rcpt: { raw: '250 Ok\r\n250 Ok\r\n250 Ok\r\n250 Ok\r\n' } } }),
  ),
  trouble(
    'Reset while the message is on its way (a short one leaves together with its final dot)',
    'unknown: lost-after-dot',
    receiver({ on: { body: { end: 'reset' } } }),
  ),
  trouble('Silence after the final dot', 'unknown: lost-after-dot', receiver({ on: { dot: { end: 'silence' } } })),
]

const TLS: readonly OutcomeCase[] = [
  trouble('The certificate is expired, for another name, or self-signed', 'delivered', async (world, domain) =>
    receiver({ certificate: await world.authority.issue(['other.test'], { isExpired: true }) })(world, domain),
  ),
  trouble('STARTTLS is not offered, or was stripped', 'delivered', receiver({ offers: { starttls: false } })),
  trouble('STARTTLS is refused', 'delivered', says('starttls', '454 4.7.0 Not now')),
  trouble(
    'STARTTLS is answered with 421',
    'deferred, no try: starttls-refused',
    says('starttls', '421 4.3.2 Shutting down', 'close'),
  ),
  trouble('Only TLS 1.0 and 1.1 are spoken: old TLS', 'delivered', receiver({ maxTls: 'TLSv1.1' })),
  trouble('The handshake is cut: old TLS is tried, then plain text', 'delivered', receiver({ handshake: 'drop' })),
  trouble('The handshake is answered with rubbish: the same', 'delivered', receiver({ handshake: 'rubbish' })),
  trouble(
    'The link is cut at STARTTLS',
    'deferred, no try: starttls-failed',
    receiver({ on: { starttls: { end: 'close' } } }),
  ),
  trouble(
    'Words are put in behind the answer to STARTTLS',
    'deferred, no try: starttls-failed',
    says('starttls', '220 go\r\n250 injected'),
  ),
]

const ENFORCED: readonly OutcomeCase[] = [
  trouble(
    'The certificate is valid',
    'delivered',
    enforced(async ({ authority }, host) => ({ certificate: await authority.issue([host]) })),
  ),
  trouble(
    'The certificate is expired',
    'deferred, no try: tls-failed',
    enforced(async ({ authority }, host) => ({ certificate: await authority.issue([host], { isExpired: true }) })),
  ),
  trouble(
    'The certificate is for another name',
    'deferred, no try: tls-failed',
    enforced(async ({ authority }) => ({ certificate: await authority.issue(['other.test']) })),
  ),
  trouble(
    'The certificate is self-signed',
    'deferred, no try: tls-failed',
    enforced((_, host) => ({ name: host })),
  ),
  trouble(
    'STARTTLS is not offered, or was stripped',
    'deferred, no try: starttls-failed',
    enforced(({ certificate }) => ({ certificate, offers: { starttls: false } })),
  ),
  trouble(
    'STARTTLS is refused',
    'deferred, no try: starttls-refused',
    enforced(({ certificate }) => ({ certificate, on: { starttls: '454 4.7.0 Not now' } })),
  ),
  trouble(
    'The handshake is cut',
    'deferred, no try: tls-failed',
    enforced(({ certificate }) => ({ certificate, handshake: 'drop' })),
  ),
  trouble(
    'Only TLS 1.0 and 1.1 are spoken',
    'deferred, no try: tls-failed',
    enforced(({ certificate }) => ({ certificate, maxTls: 'TLSv1.1' })),
  ),
  trouble(
    'The handshake is answered with rubbish',
    'deferred, no try: tls-failed',
    enforced(({ certificate }) => ({ certificate, handshake: 'rubbish' })),
  ),
  trouble(
    'STARTTLS is answered with 421',
    'deferred, no try: starttls-refused',
    enforced(({ certificate }) => ({
      certificate,
      on: { starttls: { raw: '421 4.3.2 Shutting down\r\n', end: 'close' } },
    })),
  ),
  trouble('The policy names no MX of the domain', 'deferred, no try: tls-policy', async (world, domain) => {
    await receiver({})(world, domain)
    world.policies.publish(world.office.dns.zone, domain, ENFORCE('mx.elsewhere.test'))
  }),
]

export const OUTCOME_GROUPS: readonly OutcomeGroup[] = [
  { title: 'DNS', cases: DNS },
  { title: 'Connecting', cases: CONNECTING },
  { title: 'Answers', cases: REPLIES },
  { title: 'TLS, opportunistic', cases: TLS },
  { title: 'TLS, demanded (`required`, MTA-STS enforce, DANE)', cases: ENFORCED },
]
