import { generateKeyPairSync } from 'node:crypto'
import { promises as dns } from 'node:dns'
import { assert, expect } from 'chai'
import { createTransport } from 'nodemailer'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createSandboxTestbed, type SandboxTestbed } from '#test/support/sandbox-testbed.ts'

describe('sandbox', () => {
  let bed: SandboxTestbed
  before(async () => {
    bed = await createSandboxTestbed()
  })
  after(() => bed.close())
  beforeEach(() => bed.empty())

  describe('DKIM results', () => {
    const rsa = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })

    before(async () => {
      const [workspaceId, domainId] = [newId(), newId()]
      await bed.ctx.db.query('INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, $3, $4)', [
        workspaceId,
        'ab',
        'test',
        'free',
      ])
      await bed.ctx.db.query('INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, $3)', [
        domainId,
        workspaceId,
        'sender.example',
      ])
      await bed.ctx.db.query(
        sql`
          INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value)
          VALUES ($1, $2, $3, $4, $5, $6)
        `,
        [
          newId(),
          domainId,
          's1',
          'rsa-sha256',
          Buffer.alloc(1),
          `v=DKIM1; k=rsa; p=${rsa.publicKey.toString('base64')}`,
        ],
      )
    })

    async function signed(
      selector: string,
      change: (content: string) => string = (content) => content,
    ): Promise<string> {
      const composer = createTransport({
        streamTransport: true,
        buffer: true,
        newline: 'windows',
        dkim: { domainName: 'sender.example', keySelector: selector, privateKey: rsa.privateKey },
      })
      const { message } = await composer.sendMail({
        from: 'ann@sender.example',
        to: 'bob@a.test',
        subject: 'Signed',
        text: 'Hello',
      })
      assert.ok(Buffer.isBuffer(message))
      return change(message.toString())
    }

    const ROWS: readonly (readonly [
      what: string,
      selector: string,
      change: (content: string) => string,
      result: string,
    ])[] = [
      ['a good signature', 's1', (content) => content, 'pass'],
      ['a changed body', 's1', (content) => content.replace('Hello', 'Hullo'), 'fail'],
      ['a changed subject', 's1', (content) => content.replace('Subject: Signed', 'Subject: Singed'), 'fail'],
      ['a selector that is not published', 's2', (content) => content, 'neutral'],
    ]
    for (const [what, selector, change, result] of ROWS) {
      it(`${what}: ${result}`, async () => {
        await bed.send({ content: await signed(selector, change) })
        const [verdict, ...others] = (await bed.last())?.dkim ?? []
        assert.deepEqual(
          { ...verdict, comment: null },
          { domain: 'sender.example', selector, algorithm: 'rsa-sha256', result, comment: null },
        )
        assert.strictEqual(others.length, 0)
      })
    }
  })

  describe('DNS', () => {
    const resolver = new dns.Resolver({ timeout: 1000, tries: 1 })
    before(() => resolver.setServers([`127.0.0.1:${bed.sandbox.dnsPort}`]))
    const mx = async (domain: string) =>
      (await resolver.resolveMx(domain)).map(({ priority, exchange }) => `${priority} ${exchange}`).toSorted()

    it('sends every domain to the built-in receiver', async () => {
      assert.deepEqual(await mx('gmail.com'), ['10 mx.mailstead.test'])
      assert.deepEqual(await resolver.resolve4('MX.mailstead.test'), ['127.0.0.1'])
      await expect(resolver.resolve6('mx.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENODATA',
      )
    })

    it('answers for its simulated domains', async () => {
      assert.deepEqual(await mx('null-mx.mailstead.test'), ['0 '])
      assert.deepEqual(await mx('down.mailstead.test'), ['10 mx-down.mailstead.test'])
      assert.deepEqual(await mx('next-mx.mailstead.test'), ['10 mx-down.mailstead.test', '20 mx.mailstead.test'])
      assert.deepEqual(await mx('tls-fail.mailstead.test'), ['10 mx-tls-fail.mailstead.test'])
      assert.deepEqual(await resolver.resolve4('mx-tls-fail.mailstead.test'), ['127.0.0.2'])
      await expect(resolver.resolveMx('nxdomain.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolve4('nxdomain.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolveMx('servfail.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ESERVFAIL',
      )
      await expect(resolver.resolveMx('no-host.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENODATA',
      )
      await expect(resolver.resolve4('no-host.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENODATA',
      )
    })

    it('publishes the DKIM keys of this system and no others', async () => {
      const [text] = await resolver.resolveTxt('S1._domainkey.Sender.example')
      assert.match(text?.join('') ?? '', /^v=DKIM1; k=rsa; p=MIIB/)
      await expect(resolver.resolveTxt('s9._domainkey.sender.example')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolveTxt('s1._domainkey.other.example')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolveTxt('sender.example')).to.be.rejected.and.eventually.have.property('code', 'ENODATA')
    })
  })
})
