/**
 * Runs the examples of README, guides and examples as printed, page by page and each page twice, against one
 * `mailstead start` in sandbox mode. A page has one shell session: what an example stores in a variable or a file, the
 * following ones can use. docs/examples/README.md describes the convention.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { assert } from 'chai'
import { attachReaper, type ReaperHandle } from '#bin/supervisor/child-reaper.ts'
import { freePort } from '#test/support/free-ports.ts'
import { findUndeclared, readExamples, type Example } from './markdown-examples.ts'

const run = promisify(execFile)
const PROGRAMS = ['curl', 'python3', 'node']
const MISSING = PROGRAMS.filter((name) => spawnSync(name, ['--version']).status !== 0)
const ROOT = join(import.meta.dirname, '../..')
const PAGES = ['README.md', ...globSync('docs/{guides,examples}/*.md', { cwd: ROOT })].toSorted()
const RUNS = 2
/** For output that appears a moment later, such as mail on its way. */
const PATIENCE_MS = 20_000
const COMMAND_MS = 60_000
/** A page has up to twenty examples, and each start of the program takes seconds on a busy machine. */
const PAGE_MS = 600_000

const PORTS = ['HTTP', 'SUBMISSION', 'SUBMISSION_TLS', 'SUBMISSION_ALT', 'INBOUND', 'SANDBOX_DNS', 'SANDBOX_SMTP']

interface Result {
  readonly code: number
  readonly output: string
}

describe('the examples of the documentation', () => {
  let dataDir: string
  let server: ChildProcess
  let reaper: ReaperHandle
  let env: Record<string, string>
  let log = ''

  before(async () => {
    dataDir = mkdtempSync('/tmp/mailstead-docs-')
    chmodSync(dataDir, 0o755)
    const ports: [string, string][] = []
    for (const name of [...PORTS, 'RECEIVER']) ports.push([`${name}_PORT`, String(await freePort())])
    env = {
      PATH: [dirname(process.execPath), process.env['PATH']].join(':'),
      DATA_DIR: dataDir,
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      ...Object.fromEntries(ports),
    }
    server = spawn(join(ROOT, 'bin/mailstead'), ['start'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    reaper = attachReaper(server.pid ?? 0, 'TERM', dataDir)
    for (const stream of [server.stdout, server.stderr]) stream?.on('data', (part: Buffer) => (log += part.toString()))
    while (!log.includes('Mailstead is ready')) {
      assert.strictEqual(server.exitCode, null, log)
      await sleep(50)
    }
  })
  after(async () => {
    if (server.exitCode === null) {
      server.kill('SIGTERM')
      await once(server, 'close')
    }
    reaper.release()
    rmSync(dataDir, { recursive: true })
  })

  /** A folder that looks like the checkout, in which the examples can write. */
  const openSession = (): string => {
    const folder = mkdtempSync(join(dataDir, 'session-'))
    for (const name of ['bin', 'docs', 'config', 'clients', 'node_modules'])
      symlinkSync(join(ROOT, name), join(folder, name))
    mkdirSync(join(folder, '.state'))
    writeFileSync(join(folder, '.state/env'), '')
    return folder
  }

  /** Runs commands in the session: variables are kept for the next ones. */
  const runShell = async (folder: string, text: string): Promise<Result> => {
    const script = `set -ae\n. ./.state/env\n${text}\nexport -p > ./.state/env\n`
    try {
      const { stdout, stderr } = await run('/bin/sh', ['-c', script], { cwd: folder, env, timeout: COMMAND_MS })
      return { code: 0, output: stdout + stderr }
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { code, output: `${stdout}${stderr}` }
    }
  }

  const problemOf = ({ names, patterns, text }: Example, { code, output }: Result): string | null => {
    if (code !== 0) return `exit code ${code}`
    if (patterns.length === 0 && /"success": ?false/.test(output)) return 'the API refused it'
    const missing = names.find((name) => !output.includes(`"${name}"`))
    if (missing !== undefined) return `the answer has no ${missing}`
    const unmatched = patterns.find((pattern) => !pattern.test(output))
    if (unmatched !== undefined) return `the output does not match ${String(unmatched)}`
    return output.trim() === '' && !/^[A-Z_]+=|^eval |^kill |>/m.test(text) ? 'nothing is printed' : null
  }

  /** Output that is expected may take a moment, and its command only reads: it is repeated. */
  const check = async (folder: string, example: Example): Promise<string | null> => {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(200)) {
      const result = await runShell(folder, example.text)
      const problem = problemOf(example, result)
      const mayCome = example.patterns.length > 0 && Date.now() < end
      if (problem === null || !mayCome) return problem === null ? null : `${problem}\n${example.text}\n${result.output}`
    }
  }

  const runPage = async (folder: string, examples: readonly Example[], name: string): Promise<void> => {
    for (const example of examples) {
      if (example.file !== null) writeFileSync(join(folder, example.file), `${example.text}\n`)
      else assert.strictEqual(await check(folder, example), null, `${name}, line ${example.line}`)
    }
  }

  for (const page of PAGES) {
    const markdown = readFileSync(join(ROOT, page), 'utf8')
    const examples = readExamples(markdown)
    it(`${page} declares its examples`, () => assert.deepEqual(findUndeclared(markdown), []))
    if (examples.length === 0) continue
    it(`${page} runs as printed, twice`, async function () {
      this.timeout(PAGE_MS)
      if (MISSING.some((name) => markdown.includes(`${name} `))) this.skip() // the program is not installed here
      const folder = openSession()
      await runShell(folder, 'eval "$(bin/mailstead env)"')
      try {
        for (let i = 1; i <= RUNS; i++) await runPage(folder, examples, `run ${i} of ${page}`)
      } finally {
        await runShell(folder, '[ -z "${RECEIVER:-}" ] || kill $RECEIVER')
      }
    })
  }
})
