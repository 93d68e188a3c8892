/** The checks of `mailstead setup` before the first certificate is requested, on given answers of DNS and authority. */
import { once } from 'node:events'
import { createServer as createPlainServer, type AddressInfo } from 'node:net'
import type { CaaRecord } from 'node:dns'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import type { AuthorityDirectory } from '#src/certificates/authority.ts'
import { checkFirstRequest, createRequestDeps, type REQUEST_CHECKS, type RequestDeps } from './first-request.ts'

const HOST = 'mail.sender.example'
const OWN = '93.184.215.7'
const DIRECTORY: AuthorityDirectory = {
  meta: { termsOfService: 'https://ca.example/terms', caaIdentities: ['ca.example'] },
}

interface World {
  readonly env?: Record<string, string>
  readonly a?: readonly string[]
  readonly aaaa?: readonly string[]
  readonly caa?: Readonly<Record<string, readonly string[]>>
  readonly own?: readonly string[]
  readonly ports?: Readonly<Record<number, string>>
  readonly directory?: AuthorityDirectory | Error
}

const configOf = (env: Record<string, string> = {}) =>
  loadConfig({
    MODE: 'live',
    MAILSTEAD_HOSTNAME: HOST,
    PUBLIC_URL: `https://${HOST}`,
    ACME_CHALLENGE: 'http-01',
    HTTPS_PORT: '443',
    HTTP_REDIRECT_PORT: '80',
    ...env,
  })

function depsOf({
  env,
  a = [OWN],
  aaaa = [],
  caa = {},
  own = [OWN],
  ports = {},
  directory = DIRECTORY,
}: World): RequestDeps {
  return {
    config: configOf(env),
    dns: { ofFamily: (_name, family) => Promise.resolve({ kind: 'answered', records: family === 4 ? a : aaaa }) },
    caa: (name) => {
      const records = (caa[name] ?? []).map((issue): CaaRecord => ({ critical: 0, issue }))
      return Promise.resolve({ kind: 'answered', records })
    },
    readDirectory: () => (directory instanceof Error ? Promise.reject(directory) : Promise.resolve(directory)),
    ownAddresses: own,
    tryPort: (port) => Promise.resolve(ports[port] ?? null),
  }
}

describe('what setup checks before certificates are requested', () => {
  const CASES: readonly (readonly [what: string, name: keyof typeof REQUEST_CHECKS, world: World, expected: RegExp])[] =
    [
      ['its own address', 'certificate names', {}, /^ok: mail\.sender\.example leads to this machine/],
      [
        'no address',
        'certificate names',
        { a: [] },
        /^failed: .* has no address record → add an A record .* 93\.184\.215\.7$/,
      ],
      [
        'another machine',
        'certificate names',
        { a: ['93.184.215.9'] },
        /^warning: .* leads to 93\.184\.215\.9, which is no/,
      ],
      ['a stale AAAA', 'certificate names', { aaaa: ['2001:db8::9'] }, /^warning: .* leads to 2001:db8::9, .*AAAA/],
      ['behind a NAT', 'certificate names', { own: ['10.0.0.5'] }, /^unknown: .*NAT must forward/],
      [
        'by DNS',
        'certificate names',
        { a: [], env: { ACME_CHALLENGE: 'dns-01', ACME_DNS_COMMAND: 'x' } },
        /^skipped: /,
      ],
      ['free', 'certificate ports', {}, /^ok: port 443 can be opened; port 80 can be opened$/],
      [
        'a web server',
        'certificate ports',
        { ports: { 80: 'EADDRINUSE' } },
        /^warning: port 80 .* in use → .*ss -ltnp/,
      ],
      ['no right', 'certificate ports', { ports: { 443: 'EACCES' } }, /^failed: port 443 .* → let systemd open it/],
      [
        'another port',
        'certificate ports',
        { env: { HTTP_REDIRECT_PORT: '8080' } },
        /^unknown: http-01: port 80 .* to 8080$/,
      ],
      [
        'no HTTPS_PORT',
        'certificate ports',
        { env: { ACME_CHALLENGE: 'tls-alpn-01', HTTPS_PORT: '' } },
        /^failed: tls-/,
      ],
      ['it answers', 'certificate authority', {}, /^ok: .* accepts its terms: https:\/\/ca\.example\/terms$/],
      [
        'silence',
        'certificate authority',
        { directory: new Error('not reached') },
        /^failed: not reached → let this machine/,
      ],
      [
        'an account is required',
        'certificate authority',
        { directory: { meta: { externalAccountRequired: true } } },
        /^failed: .* requires an account .* → set ACME_EAB_KEY_ID/,
      ],
      ['none', 'CAA records', {}, /^ok: .* has no CAA record/],
      [
        'of the parent',
        'CAA records',
        { caa: { 'sender.example': ['CA.example; x=1'] } },
        /^ok: .*sender\.example permit ca/,
      ],
      [
        'of another',
        'CAA records',
        { caa: { 'sender.example': ['other.example'] } },
        /^failed: .* permit only other\.example → add this record: sender\.example CAA 0 issue "ca\.example"$/,
      ],
      [
        'the closest counts',
        'CAA records',
        { caa: { [HOST]: [';'], 'sender.example': ['ca.example'] } },
        /only nobody/,
      ],
      [
        'another method',
        'CAA records',
        { caa: { [HOST]: ['ca.example; validationmethods=dns-01'] } },
        /^failed: .*http-01/,
      ],
      ['silence', 'CAA records', { directory: new Error('not reached') }, /^skipped: /],
    ]
  for (const [what, name, world, expected] of CASES)
    it(`${name}: ${what}`, async () => {
      const finding = (await checkFirstRequest(depsOf(world))).find((one) => one.name === name)
      const todo = finding?.todo === '' ? '' : ` → ${finding?.todo}`
      assert.match(`${finding?.status}: ${finding?.detail}${todo}`, expected)
    })

  it('checks nothing without automatic certificates', async () => {
    assert.deepEqual(await checkFirstRequest(depsOf({ env: { ACME_CHALLENGE: 'off', HTTPS_PORT: '' } })), [])
  })

  it('opens real ports, and says what keeps it from one', async () => {
    const { tryPort } = createRequestDeps(configOf())
    const server = createPlainServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    assert.strictEqual(await tryPort(port, '127.0.0.1'), 'EADDRINUSE')
    server.close()
    await once(server, 'close')
    assert.isNull(await tryPort(port, '127.0.0.1'))
  })
})
