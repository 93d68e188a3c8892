/** Outcomes of DNS lookups, connections and greetings. */
import { acceptedWithDns, outcomeCase, receiver, records, replies, type OutcomeCase } from './outcome-case.ts'

export const DNS_CASES: readonly OutcomeCase[] = [
  outcomeCase(
    'The MX lookup fails with SERVFAIL',
    'deferred, not counted: dns',
    acceptedWithDns({ fault: 'servfail' }),
  ),
  outcomeCase('The MX lookup is refused', 'deferred, not counted: dns', acceptedWithDns({ fault: 'refused' })),
  outcomeCase('The name server does not answer', 'deferred, not counted: dns', acceptedWithDns({ fault: 'silence' })),
  outcomeCase(
    'The answer has a different query id',
    'deferred, not counted: dns',
    acceptedWithDns({ fault: 'wrong-id' }),
  ),
  outcomeCase(
    'The answer is for a different question',
    'deferred, not counted: dns',
    acceptedWithDns({ fault: 'wrong-question' }),
  ),
  outcomeCase(
    'The answer is truncated; the query is repeated over TCP',
    'delivered',
    acceptedWithDns({ fault: 'truncate' }),
  ),
  outcomeCase(
    'A CNAME loop',
    'deferred, not counted: dns',
    records((domain) => ({ CNAME: domain })),
  ),
  outcomeCase('The domain does not exist (NXDOMAIN)', 'bounced, hard: no-such-domain', () => undefined),
  outcomeCase(
    'The domain has neither MX nor address records',
    'bounced, hard: no-host',
    records(() => ({ TXT: ['v=spf1 -all'] })),
  ),
  outcomeCase(
    'A null MX (RFC 7505)',
    'bounced, hard: null-mx',
    records(() => ({ MX: [[0, '.']] })),
  ),
  outcomeCase('A null MX among other MX records; it is ignored', 'delivered', async (setup, domain) => {
    await receiver({})(setup, domain)
    setup.testbed.dns.zone[domain] = {
      MX: [
        [0, '.'],
        [10, `mx1.${domain}`],
      ],
    }
  }),
  outcomeCase('The MX host is an alias (CNAME)', 'delivered', async (setup, domain) => {
    await receiver({})(setup, domain)
    Object.assign(setup.testbed.dns.zone, {
      [domain]: { MX: [[10, `alias.${domain}`]] },
      [`alias.${domain}`]: { CNAME: `mx1.${domain}` },
    })
  }),
  outcomeCase(
    'The MX host is an IP address',
    'bounced, hard: no-host',
    records(() => ({ MX: [[10, '192.0.2.1']] })),
  ),
  outcomeCase(
    'The MX host is localhost',
    'bounced, hard: no-host',
    records(() => ({ MX: [[10, 'localhost']] })),
  ),
  outcomeCase(
    'The MX host is this server',
    'bounced, soft: loop',
    records(() => ({ MX: [[10, 'mta.sender.example']] })),
  ),
  outcomeCase(
    'The MX host name contains line breaks, spaces or control characters',
    'bounced, hard: no-host',
    records(() => ({
      MX: [
        [10, 'mx\r\nRCPT TO:<x>'],
        [20, 'a b'],
        [30, '\u{1b}[31m'],
      ],
    })),
  ),
  outcomeCase(
    'The MX host has no address',
    'bounced, soft: no-host',
    records(() => ({ MX: [[10, 'nowhere.test']] }), { 'nowhere.test': { TXT: ['x'] } }),
  ),
  outcomeCase(
    'The MX host has only private addresses',
    'bounced, soft: no-host',
    records(() => ({ MX: [[10, 'inside.test']] }), { 'inside.test': { A: ['10.0.0.1', '192.168.0.1'] } }),
  ),
  outcomeCase(
    'The address lookup of the MX host fails with SERVFAIL',
    'deferred, not counted: dns',
    records(() => ({ MX: [[10, 'sick.test']] }), { 'sick.test': { fault: 'servfail' } }),
  ),
  outcomeCase(
    '30 MX hosts, and the six preferred ones refuse connections',
    'deferred, not counted: unreachable',
    ({ testbed }, domain) => {
      for (let i = 0; i < 30; i++) testbed.addUnreachableMx(domain)
    },
  ),
]

export const CONNECTION_CASES: readonly OutcomeCase[] = [
  outcomeCase('The connection is refused', 'deferred, not counted: unreachable', ({ testbed }, domain) =>
    testbed.addUnreachableMx(domain),
  ),
  outcomeCase(
    'The server closes the connection without a greeting',
    'deferred, not counted: greeting-failed',
    receiver({ on: { greeting: { end: 'close' } } }),
  ),
  outcomeCase(
    'A web server answers',
    'deferred, not counted: greeting-failed',
    replies('greeting', 'HTTP/1.1 400 Bad Request'),
  ),
  outcomeCase('A greeting of 100 KB', 'delivered', replies('greeting', `220-${'x'.repeat(100_000)}\r\n220 mx`)),
  outcomeCase(
    '421 in the greeting',
    'deferred, not counted: greeting-refused',
    replies('greeting', '421 4.3.2 Too busy', 'close'),
  ),
  outcomeCase(
    '554 in the greeting',
    'deferred, not counted: greeting-refused',
    replies('greeting', '554 5.7.1 Your address is listed'),
  ),
  outcomeCase('421 to EHLO', 'deferred, not counted: ehlo-refused', replies('ehlo', '421 4.3.2 Later', 'close')),
  outcomeCase(
    'EHLO and HELO are refused',
    'deferred, not counted: ehlo-refused',
    receiver({ on: { ehlo: '550 5.7.1 No', helo: '550 5.7.1 No' } }),
  ),
  outcomeCase('EHLO is not supported, HELO is', 'delivered', replies('ehlo', '502 5.5.1 What?')),
  outcomeCase('One MX host is unreachable, one refuses, a third accepts', 'delivered', async (setup, domain) => {
    setup.testbed.addUnreachableMx(domain)
    await replies('greeting', '554 5.7.1 Not here')(setup, domain)
    await receiver({})(setup, domain)
  }),
]
