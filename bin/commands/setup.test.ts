/** `mailstead setup` with answers, and the file that other processes read. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { applySettingsFile, parseSettings } from '#config/saved-settings.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { run } from './setup.ts'

describe('mailstead setup', () => {
  let dir: string
  let dns: TestDns
  before(async () => {
    dns = await startDns({ 'bounces.example.com': { MX: [[10, 'mail.example.com']] } })
  })
  after(() => dns.stop())
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mailstead-setup-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  const file = (): string => join(dir, 'data', 'mailstead.env')
  const answers = (more = ''): string =>
    `MODE=live\nMAILSTEAD_HOSTNAME=mail.example.com\nPUBLIC_URL=https://mail.example.com\nDNS_SERVERS=${dns.server}\n` +
    `EGRESS_CHECK_TARGET=none\nBLOCKLISTS=none\n${more}`
  function setup(text: string, ...more: string[]): Promise<CommandResult> {
    writeFileSync(join(dir, 'answers'), text)
    const args = ['--answers', join(dir, 'answers'), '--json', ...more]
    return runCommand(run, args, { DATA_DIR: join(dir, 'data') })
  }
  const read = (): Readonly<Record<string, string>> => parseSettings(readFileSync(file(), 'utf8'), file())

  it('writes one file with secrets, readable by its owner only, and reports what is missing', async () => {
    const { code, out } = await setup(answers())
    assert.strictEqual(code, 0)
    assert.strictEqual(statSync(file()).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(dir, 'data')), ['mailstead.env'], 'no draft is left')
    const { MASTER_KEY = '', ADMIN_TOKEN = '', ...others } = read()
    assert.match(MASTER_KEY, /^[0-9a-f]{64}$/)
    assert.match(ADMIN_TOKEN, /^[0-9a-f]{64}$/)
    assert.strictEqual(others['MAILSTEAD_HOSTNAME'], 'mail.example.com')
    assert.ok(!out.includes(MASTER_KEY) && !out.includes(ADMIN_TOKEN), 'secrets are not printed')
    const result = JSON.parse(out) as { campaigns_held_back: boolean; checks: { name: string; status: string }[] }
    assert.strictEqual(result.campaigns_held_back, true)
    assert.strictEqual(result.checks.find(({ name }) => name === 'bounce domain')?.status, 'failed')
  })

  it('checks what certificates need before the first start, each with its fix', async () => {
    const acme = 'ACME_CHALLENGE=tls-alpn-01\nACME_DIRECTORY=https://127.0.0.1:1/directory\nHTTPS_PORT=61443\n'
    const { code, out } = await setup(answers(acme))
    assert.strictEqual(code, 0)
    const { checks } = JSON.parse(out) as { checks: { name: string; status: string; todo: string }[] }
    const found = new Map(checks.map(({ name, status, todo }) => [name, `${status} ${todo}`]))
    assert.match(found.get('certificate names') ?? '', /^failed add an A record for mail\.example\.com/)
    assert.match(found.get('certificate authority') ?? '', /^failed let this machine connect to 127\.0\.0\.1:1 /)
    assert.match(found.get('certificate ports') ?? '', /^(unknown|warning) /)
    assert.match(found.get('CAA records') ?? '', /^skipped/)
  })

  it('checks the stores that the settings name', async () => {
    const { out } = await setup('DATABASE_URL=postgres://me:secret@127.0.0.1:1/mail\nREDIS_URL=redis://127.0.0.1:1\n')
    const { checks } = JSON.parse(out) as { checks: { name: string; status: string; detail: string; todo: string }[] }
    assert.deepEqual(
      checks.map(({ name, status }) => [name, status]),
      [
        ['PostgreSQL', 'failed'],
        ['PostgreSQL connections', 'skipped'],
        ['Redis', 'failed'],
      ],
    )
    assert.match(checks[0]?.detail ?? '', /^PostgreSQL at 127\.0\.0\.1:1\/mail cannot be reached \(.*ECONNREFUSED/)
    assert.match(checks[0]?.todo ?? '', /check that it runs, and DATABASE_URL/)
    assert.notInclude(out, 'secret')
  })

  it('makes a file that a process starts with, where variables of the environment come first', async () => {
    await setup(answers())
    const env: NodeJS.ProcessEnv = { DATA_DIR: join(dir, 'data'), PUBLIC_URL: 'https://other.example.com' }
    applySettingsFile(env)
    const config = loadConfig(env)
    assert.deepEqual(
      [config.isLive, config.serverName, config.publicUrl],
      [true, 'mail.example.com', 'https://other.example.com'],
    )
    assert.strictEqual(env['SETTINGS_FILE'], 'none', 'a child does not read it again')
  })

  it('generates no master key where the environment names one', async () => {
    writeFileSync(join(dir, 'answers'), answers())
    const env = { DATA_DIR: join(dir, 'data'), MASTER_KEY_FILE: '/etc/mailstead/master.key' }
    const { code } = await runCommand(run, ['--answers', join(dir, 'answers'), '--json'], env)
    assert.strictEqual(code, 0)
    assert.hasAllKeys(
      Object.fromEntries(Object.entries(read()).filter(([name]) => /^(MASTER_KEY|ADMIN_TOKEN)/.test(name))),
      ['ADMIN_TOKEN'],
    )
  })

  it('changes no existing file', async () => {
    await setup(answers())
    const before = readFileSync(file(), 'utf8')
    const { code, err } = await setup(answers('HTTP_PORT=3001\n'))
    assert.strictEqual(code, 1)
    assert.match(err, /exists and was not changed.*--replace/)
    assert.strictEqual(readFileSync(file(), 'utf8'), before)
  })

  it('keeps the old file and its secrets with --replace', async () => {
    await setup(answers())
    const { MASTER_KEY } = read()
    const { code, out } = await setup(answers('HTTP_PORT=3001\n'), '--replace')
    const { kept } = JSON.parse(out) as { kept: string }
    assert.strictEqual(code, 0)
    assert.strictEqual(existsSync(kept), true)
    assert.deepEqual([read()['MASTER_KEY'], read()['HTTP_PORT']], [MASTER_KEY, '3001'])
    assert.strictEqual(statSync(kept).mode & 0o777, 0o600)
  })

  it('generates no secret that DATA_DIR has: another key could not decrypt what is stored', async () => {
    mkdirSync(join(dir, 'data'))
    writeFileSync(join(dir, 'data', 'master.key'), 'x')
    await setup(answers())
    assert.deepEqual([read()['MASTER_KEY'], typeof read()['ADMIN_TOKEN']], [undefined, 'string'])
  })

  const WRONG: readonly (readonly [what: string, text: string, expected: RegExp])[] = [
    ['no host name', 'MODE=live\n', /MAILSTEAD_HOSTNAME must be the public name/],
    ['a private name', 'MODE=live\nMAILSTEAD_HOSTNAME=mail.local\n', /MAILSTEAD_HOSTNAME must be the public name/],
    ['an invalid value', 'MODE=sandbox\nHTTP_PORT=x\n', /HTTP_PORT must be a port/],
    ['a misspelled name', 'MODE=sandbox\nPUBLIC_ULR=https://a.example.com\n', /line 2: PUBLIC_ULR is not a setting/],
    ['no assignment', 'MODE live\n', /line 1 is not NAME=VALUE/],
  ]
  for (const [what, text, expected] of WRONG) {
    it(`writes nothing: ${what}`, async () => {
      const message = await setup(text).then(
        ({ err }) => err,
        (error: unknown) => (error instanceof Error ? error.message : ''),
      )
      assert.match(message, expected)
      assert.strictEqual(existsSync(file()), false)
    })
  }

  it('writes a sandbox without asking DNS', async () => {
    const before = dns.queries.length
    assert.strictEqual((await setup('MODE=sandbox\n')).code, 0)
    assert.strictEqual(dns.queries.length, before)
  })
  it('asks nothing without a terminal', async () => {
    const failure = await runCommand(run, [], { DATA_DIR: join(dir, 'data') }).catch((error: unknown) => String(error))
    assert.match(JSON.stringify(failure), /--answers FILE/)
  })
})
