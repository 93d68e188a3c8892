/** Runs the examples against a server. An example whose program is not installed on this machine is skipped. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert, expect } from 'chai'
import { SMTPServer } from 'smtp-server'
import { startApi, type TestApi } from '#test/support/api.ts'
import { certificateFor } from '#test/support/certificate.ts'

const run = promisify(execFile)
const HERE = import.meta.dirname
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0
const plainPath = { PATH: process.env['PATH'] ?? '' }

/** How each is run, and what it must say. */
const SENDING: readonly (readonly [file: string, program: string, said: RegExp])[] = [
  ['send.sh', 'curl', /"status":"queued".*\n.*"events":\[/],
  ['send.py', 'python3', /^em_[0-9a-f]{32} queued\nqueued \['email\.queued'\]/],
  ['send.mjs', process.execPath, /^em_[0-9a-f]{32} queued\nqueued \[ 'email\.queued' \]/],
]

describe('the examples', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const environment = (change: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    ...plainPath,
    MAILSTEAD_URL: api.url,
    MAILSTEAD_KEY: api.regular,
    MAILSTEAD_FROM: `shop@${api.domain}`,
    MAILSTEAD_TO: 'anna@example.org',
    ...change,
  })
  const start = (file: string, program: string, env: Record<string, string>): ReturnType<typeof run> =>
    file.endsWith('.sh') ? run('sh', [join(HERE, file)], { env }) : run(program, [join(HERE, file)], { env })

  it('are all in the list', () => {
    const list = readFileSync(join(HERE, 'README.md'), 'utf8')
    const files = readdirSync(HERE).filter((name) => /\.(?:sh|py|mjs|php)$/.test(name))
    assert.ok(files.length >= 7)
    for (const file of files) assert.ok(list.includes(`(${file})`), file)
  })

  for (const [file, program, said] of SENDING) {
    it(`${file} sends one mail, and says what became of it`, async function () {
      if (!has(program)) this.skip() // there is no such program here
      const { stdout } = await start(file, program, environment({ ORDER_ID: file }))
      assert.match(String(stdout), said)
      const { rows } = await api.db.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM messages WHERE tags = '{order}'`,
      )
      assert.strictEqual(rows[0]?.count, 1)
      await api.db.query('DELETE FROM messages')
    })
    it(`${file} fails with what the server says`, async function () {
      if (!has(program)) this.skip() // there is no such program here
      await expect(start(file, program, environment({ MAILSTEAD_KEY: 'wrong' }))).to.be.rejected.and.eventually.satisfy(
        (error: { stdout: string; stderr: string }) => {
          assert.match(error.stdout + error.stderr, /UNAUTHORIZED/)
          return true
        },
      )
    })
  }

  for (const port of ['starttls', 'tls'] as const) {
    it(`smtp-nodemailer.mjs logs in with the key as password, by ${port}`, async () => {
      const certificate = await certificateFor(['localhost'])
      const logins: string[] = []
      const mails: string[] = []
      const server = new SMTPServer({
        ...certificate,
        secure: port === 'tls',
        onAuth: ({ password = '' }, session, done) => {
          logins.push(`${session.secure} ${password}`)
          done(null, { user: 'x' })
        },
        onData: (stream, _session, done) => {
          const chunks: Buffer[] = []
          stream
            .on('data', (chunk: Buffer) => chunks.push(chunk))
            .on('end', () => {
              mails.push(Buffer.concat(chunks).toString())
              done()
            })
        },
      })
      await new Promise<void>((resolve) => void server.listen(0, 'localhost', resolve))
      const folder = mkdtempSync('/tmp/mailstead-example-')
      const ca = join(folder, 'ca.pem')
      writeFileSync(ca, certificate.cert)
      const source = readFileSync(join(HERE, 'smtp-nodemailer.mjs'), 'utf8')
      const smtp = String((server.server.address() as AddressInfo).port)
      // the one thing that a test cannot have is port 465
      const script = port === 'tls' ? source.replace("MAILSTEAD_SMTP_PORT === '465'", 'true') : source
      try {
        await run(process.execPath, ['--input-type=module', '-e', script], {
          cwd: HERE,
          env: environment({ MAILSTEAD_SMTP_HOST: 'localhost', MAILSTEAD_SMTP_PORT: smtp, NODE_EXTRA_CA_CERTS: ca }),
        })
        assert.deepEqual(logins, [`true ${api.regular}`])
        assert.match(mails[0] ?? '', /^X-Priority-Tier: instant\r$/m)
      } finally {
        rmSync(folder, { recursive: true })
        await new Promise<void>((resolve) => server.close(resolve))
      }
    })
  }

  it('smtp-django.py is Python', async function () {
    if (!has('python3')) this.skip() // there is no Python here
    await run('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', join(HERE, 'smtp-django.py')])
  })
  for (const file of ['send.php', 'smtp-wordpress.php'])
    it(`${file} is PHP`, async function () {
      if (!has('php')) this.skip() // there is no PHP here
      await run('php', ['-l', join(HERE, file)])
    })
})
