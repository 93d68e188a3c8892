import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert } from 'chai'

interface System {
  readonly platform: string
  readonly env: Readonly<Record<string, string>>
  readonly isInstalled: (name: string) => boolean
}

const FILE = join(import.meta.dirname, 'check-platform.mjs')
const { platformProblem } = (await import(FILE)) as { platformProblem: (system: System) => string | null }

const URLS = { DATABASE_URL: 'postgres://db/mailstead', REDIS_URL: 'redis://cache' }

describe('npm start', () => {
  const rows: readonly [
    what: string,
    platform: string,
    env: Record<string, string>,
    programs: string[],
    RegExp | null,
  ][] = [
    ['Linux', 'linux', {}, [], null],
    [
      'macOS',
      'darwin',
      {},
      [],
      /no embedded PostgreSQL and no embedded Redis for macOS.*compose\.yaml.*installing\.md/,
    ],
    ['macOS with PostgreSQL', 'darwin', {}, ['initdb'], /no embedded Redis for macOS/],
    ['macOS with both', 'darwin', {}, ['initdb', 'valkey-server'], null],
    ['macOS with servers elsewhere', 'darwin', URLS, [], null],
    ['Windows', 'win32', URLS, [], /does not run on Windows.*compose\.yaml/],
  ]
  for (const [what, platform, env, programs, expected] of rows) {
    it(`on ${what}: ${expected === null ? 'starts' : 'says what to do'}`, () => {
      const problem = platformProblem({ platform, env, isInstalled: (name) => programs.includes(name) })
      if (expected === null) assert.isNull(problem)
      else assert.match(problem ?? '', expected)
    })
  }

  it('prints nothing here', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [FILE], { encoding: 'utf8' })
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  })
})
