/** The registrar and DNS provider of a domain, from a real RDAP server (HTTP, on loopback) and a real DNS server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { createRegistrationRound } from '#worker/domains.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { providerOf } from './dns-provider.ts'
import type { Domain } from './domains.ts'

const REGISTRAR = {
  entities: [
    { roles: ['abuse'] },
    {
      roles: ['registrar'],
      publicIds: [{ type: 'IANA Registrar ID', identifier: '1910' }],
      vcardArray: [
        'vcard',
        [
          ['version', {}, 'text', '4.0'],
          ['fn', {}, 'text', ' Example\u0000Registrar, Inc. '],
        ],
      ],
    },
  ],
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void
const json =
  (value: unknown): Answer =>
  (_request, response) => {
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }
const redirect =
  (location: string): Answer =>
  (_request, response) => {
    response.writeHead(302, { location }).end()
  }

describe('the registration of a domain', () => {
  let testbed: DomainTestbed
  let server: Server
  let base: string
  let answer: Answer
  let requested: string[] = []
  let names = 0
  before(async () => {
    server = createServer((request, response) => {
      requested.push(request.url ?? '')
      answer(request, response)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    testbed = await createDomainTestbed({ RDAP_URL: `${base}/domain/`, ALLOW_PRIVATE_TARGETS: '127.0.0.1' })
  })
  after(async () => {
    server.closeAllConnections()
    server.close()
    await testbed.close()
  })
  beforeEach(() => {
    requested = []
  })

  async function lookUp(name = `shop${names++}.com`): Promise<Domain> {
    const domain = await testbed.add(await testbed.ctx.newWorkspace(), name)
    await createRegistrationRound(testbed.ctx)()
    return testbed.read(domain)
  }

  it('comes from RDAP and the name servers, and is looked up again after a month', async () => {
    answer = json(REGISTRAR)
    testbed.dns.zone['known.co.uk'] = { NS: ['ada.ns.cloudflare.com', 'bob.ns.cloudflare.com'] }
    const domain = await lookUp('news.known.co.uk')
    assert.deepEqual(
      [domain.registrarName, domain.registrarIanaId, domain.dnsProvider],
      ['Example?Registrar, Inc.', '1910', 'Cloudflare'],
    )
    assert.ok(domain.registrarLastCheckedAt !== null)
    assert.deepEqual(requested, ['/domain/known.co.uk'])
    testbed.ctx.advance(29 * 86_400_000)
    await createRegistrationRound(testbed.ctx)()
    assert.strictEqual(requested.length, 1)
    testbed.ctx.advance(5 * 86_400_000)
    await createRegistrationRound(testbed.ctx)()
    assert.strictEqual(requested.length, 2)
    testbed.ctx.advance(-34 * 86_400_000)
  })

  it('comes from the registry that RDAP redirects to', async () => {
    answer = (request, response) =>
      (request.url?.startsWith('/domain/') === true ? redirect('../registry/x') : json(REGISTRAR))(request, response)
    assert.strictEqual((await lookUp()).registrarIanaId, '1910')
    assert.deepEqual(
      requested.map((url) => url.split('/')[1]),
      ['domain', 'registry'],
    )
  })

  const FAILURES: readonly [what: string, answer: () => Answer, requests: number][] = [
    [
      'a server that fails',
      () => (_request, response) => {
        response.writeHead(500).end()
      },
      1,
    ],
    [
      'a name that is not registered',
      () => (_request, response) => {
        response.writeHead(404).end()
      },
      1,
    ],
    ['a response that is not JSON', () => json('<html>'), 1],
    [
      'a response of another shape',
      () => json({ entities: [{ roles: 'registrar' }, null, { roles: ['registrar'], vcardArray: 5 }] }),
      1,
    ],
    ['an endless response', () => json(`{"entities":"${'x'.repeat(600_000)}`), 1],
    ['a redirect loop', () => redirect('/domain/again'), 4],
    ['a redirect to a private address', () => redirect('http://10.0.0.1/'), 1],
    ['a redirect to another protocol', () => redirect('file:///etc/passwd'), 1],
    [
      'a connection that breaks',
      () => (request) => {
        request.socket.destroy()
      },
      1,
    ],
  ]
  for (const [what, behave, requests] of FAILURES) {
    it(`stays unknown after ${what}, and is looked up again within two days`, async () => {
      answer = behave()
      const domain = await lookUp()
      assert.deepEqual([domain.registrarName, domain.registrarIanaId], [null, null])
      assert.strictEqual(requested.length, requests)
      const { rows } = await testbed.ctx.db.query<{ due: Date }>(
        'SELECT registration_due_at AS due FROM domains WHERE id = $1',
        [domain.id],
      )
      assert.ok((rows[0]?.due.getTime() ?? 0) - testbed.ctx.clock.now() < 2 * 86_400_000)
    })
  }

  it('is not looked up for a name that no registry assigns', async () => {
    answer = json(REGISTRAR)
    const domain = await lookUp('hello.mailstead.test')
    assert.deepEqual([domain.registrarName, domain.registrarLastCheckedAt, requested], [null, null, []])
  })

  it('is looked up by only one of two workers', async () => {
    answer = json(REGISTRAR)
    await testbed.add(await testbed.ctx.newWorkspace(), 'once.com')
    await Promise.all([createRegistrationRound(testbed.ctx)(), createRegistrationRound(testbed.ctx)()])
    assert.deepEqual(requested, ['/domain/once.com'])
  })
})

describe('the provider of a zone', () => {
  const cases: readonly [nameServers: string[], provider: string | null][] = [
    [['ada.ns.cloudflare.com'], 'Cloudflare'],
    [['ns-1.awsdns-22.co.uk', 'ns-2.awsdns-33.com'], 'Amazon Route 53'],
    [['ns01.domaincontrol.com'], 'GoDaddy'],
    [['ns-cloud-a1.googledomains.com'], 'Google Cloud DNS'],
    [['ns1-01.azure-dns.com'], 'Azure DNS'],
    [['dns1.registrar-servers.com'], 'Namecheap'],
    [['ns1.digitalocean.com'], 'DigitalOcean'],
    [['hydrogen.ns.hetzner.com'], 'Hetzner'],
    [['ns2.small-host.co.uk', 'ns1.small-host.co.uk'], 'small-host.co.uk'],
    [['evilns.cloudflare.com.attacker.net'], 'attacker.net'],
    [['localhost'], 'localhost'],
    [[], null],
  ]
  for (const [nameServers, provider] of cases)
    it(`${nameServers.join(', ')}: ${provider}`, () => assert.strictEqual(providerOf(nameServers), provider))
})
