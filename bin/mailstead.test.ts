import { spawnSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { assert } from 'chai'
import { MODULES } from '#bin/commands/compile.ts'

const PROGRAM = join(import.meta.dirname, 'mailstead')
/** Replaces the real set-up: reports that it ran, and writes the stamp as bin/setup.mjs does. */
const SETUP = `
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const root = join(import.meta.dirname, '..')
console.log('set-up ran on', process.argv[0])
if (process.env.BROKEN) process.exit(1)
const { ino, size, mtimeMs } = statSync(process.execPath)
const sum = execFileSync('cksum', { input: readFileSync(join(root, 'package-lock.json')), encoding: 'utf8' }).trim()
mkdirSync(join(root, 'node_modules'), { recursive: true })
const identity = [ino, size, Math.floor(mtimeMs / 1000)].join(' ')
writeFileSync(join(root, 'node_modules/.mailstead'), [sum, process.execPath, identity, ''].join('\\n'))
`
const MAIN = 'console.log(process.pid, process.argv.slice(2))'

interface Ended {
  readonly out: string
  readonly err: string
  readonly status: number | null
}

describe('bin/mailstead', () => {
  let root: string
  const PATH = [dirname(process.execPath), process.env['PATH']].join(':')
  const run = (args: readonly string[], env: object = {}, program = join(root, 'bin/mailstead')): Ended => {
    const { stdout, stderr, status } = spawnSync(program, args, { encoding: 'utf8', env: { PATH, ...env } })
    return { out: stdout, err: stderr, status }
  }
  const isSetUp = (out: string): boolean => !out.includes('set-up ran')

  beforeEach(() => {
    root = mkdtempSync('/tmp/mailstead bin-')
    mkdirSync(join(root, 'bin'))
    copyFileSync(PROGRAM, join(root, 'bin/mailstead'))
    writeFileSync(join(root, 'bin/mailstead.ts'), MAIN)
    writeFileSync(join(root, 'bin/setup.mjs'), SETUP)
    writeFileSync(join(root, 'package-lock.json'), '{}')
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('runs set-up the first time only, and again when the lock file changed', () => {
    assert.ok(!isSetUp(run([]).out))
    assert.ok(isSetUp(run([]).out))
    writeFileSync(join(root, 'package-lock.json'), '{ }')
    assert.ok(!isSetUp(run([]).out))
    assert.ok(isSetUp(run([]).out))
  })

  it('runs set-up again when the chosen Node changed', () => {
    const node = join(root, 'node')
    copyFileSync(process.execPath, node)
    const env = { PATH: `${root}:${PATH}` }
    assert.match(run([], env).out, /set-up ran on .*bin-.*\/node\n/)
    assert.ok(isSetUp(run([], env).out))
    utimesSync(node, 1, 1)
    assert.ok(!isSetUp(run([], env).out))
  })

  it('replaces itself with the program: same pid, same arguments', async () => {
    run([])
    const child = spawn(join(root, 'bin/mailstead'), ['queue', 'a b', '', '*'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH },
    })
    const [chunk] = await once(child.stdout, 'data')
    assert.strictEqual(String(chunk), `${child.pid} [ 'queue', 'a b', '', '*' ]\n`)
  })

  it('sets the compile cache before Node starts, unless it is set', () => {
    run([])
    writeFileSync(join(root, 'bin/mailstead.ts'), 'console.log(process.env.NODE_COMPILE_CACHE)')
    assert.strictEqual(run([]).out, `${join(root, 'node_modules/.cache/node')}\n`)
    assert.strictEqual(run([], { NODE_COMPILE_CACHE: '/nonexistent' }).out, '/nonexistent\n')
  })

  it('finds its folder through links, relative ones too', () => {
    run([])
    mkdirSync(join(root, 'node_modules/.bin'))
    symlinkSync('../../bin/mailstead', join(root, 'node_modules/.bin/mailstead'))
    symlinkSync(join(root, 'node_modules/.bin/mailstead'), join(root, 'link'))
    assert.match(run(['x'], {}, join(root, 'link')).out, /^\d+ \[ 'x' \]\n$/)
    assert.match(
      run(['x'], { PATH: `${join(root, 'node_modules/.bin')}:${PATH}` }, 'mailstead').out,
      /^\d+ \[ 'x' \]\n$/,
    )
  })

  it('does not run set-up with the Node that set-up replaces', () => {
    mkdirSync(join(root, 'node_modules/.bin'), { recursive: true })
    symlinkSync('/bin/false', join(root, 'node_modules/.bin/node'))
    assert.ok(!isSetUp(run([], { PATH: `${join(root, 'node_modules/.bin')}:${PATH}` }).out))
  })

  it('exits with 1 when set-up fails, and when there is no Node', () => {
    assert.strictEqual(run([], { BROKEN: '1' }).status, 1)
    const { status, err } = run([], { PATH: '/nonexistent' }, '/bin/sh')
    assert.strictEqual(status, 0, err)
    mkdirSync(join(root, 'tools'))
    for (const tool of ['cksum', 'stat', 'readlink']) {
      symlinkSync(existsSync(`/usr/bin/${tool}`) ? `/usr/bin/${tool}` : `/bin/${tool}`, join(root, 'tools', tool))
    }
    const without = run([], { PATH: join(root, 'tools') })
    assert.strictEqual(without.status, 1)
    assert.match(without.err, /Node\.js is missing\. Install Node 20/)
  })
})

describe('mailstead', () => {
  const { PATH } = process.env
  const run = (...args: string[]): Ended => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [`${PROGRAM}.ts`, ...args], { encoding: 'utf8' })
    return { out: stdout, err: stderr, status }
  }

  it('--help lists the commands; each has its module', () => {
    const { out, status } = run('--help')
    assert.strictEqual(status, 0)
    const names = [...out.matchAll(/^ {2}(\w+) /gm)].map((match) => match[1] ?? '')
    assert.ok(names.length > 10)
    assert.deepEqual(
      names.filter((name) => !existsSync(join(import.meta.dirname, 'commands', `${name}.ts`))),
      [],
    )
  })

  const compilations: readonly [args: readonly string[], files: number, programs: readonly string[]][] = [
    [['compile'], 300, ['api', 'worker', 'mta']],
    [['compile', '--start'], 80, ['start']],
  ]
  for (const [args, files, programs] of compilations)
    it(`${args.join(' ')} caches all code of ${programs.join(', ')}`, () => {
      const cache = mkdtempSync('/tmp/mailstead-compiled-')
      const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: cache, DATA_DIR: '/dev/null/data' }
      const cachedAfter = (...words: readonly string[]): readonly string[] => {
        spawnSync(process.execPath, [`${PROGRAM}.ts`, ...words], { env })
        return readdirSync(cache, { recursive: true, encoding: 'utf8' }).toSorted()
      }
      const compiled = cachedAfter(...args)
      assert.ok(compiled.length > files, `${compiled.length} files`)
      // without stores and data the programs end as soon as they are loaded
      for (const program of programs) assert.deepEqual(cachedAfter(program), compiled, program)
      rmSync(cache, { recursive: true })
    })

  it('compile includes every thread', () => {
    const root = join(import.meta.dirname, '..')
    const threads = ['api', 'mta', 'src'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .map((file) => `${folder}/${file}`)
        .filter(
          (file) => /(?<!\.test)\.ts$/.test(file) && readFileSync(join(root, file), 'utf8').includes('parentPort?.on('),
        ),
    )
    assert.ok(threads.length > 3)
    assert.deepEqual(
      threads.filter((file) => !MODULES.includes(`#${file}`)),
      [],
    )
  })

  it('--version prints the version', () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
      version: string
    }
    assert.deepEqual(run('--version'), { out: `mailstead ${version}\n`, err: '', status: 0 })
  })

  it('names the nearest command', () => {
    assert.match(run('quue').err, /^mailstead: unknown command "quue"\. Did you mean queue\?\n/)
  })

  it('colours nothing in a pipe, unless FORCE_COLOR is set', () => {
    const help = (env: object): string =>
      spawnSync(process.execPath, [`${PROGRAM}.ts`, '--help'], { encoding: 'utf8', env: { PATH, ...env } }).stdout
    const ESCAPE = '\u001b['
    assert.notInclude(help({}), ESCAPE)
    assert.include(help({ FORCE_COLOR: '1' }), ESCAPE)
  })

  const wrong: readonly (readonly string[])[] = [
    ['nope'],
    ['compile', 'now'],
    ['toString'],
    ['../mailstead'],
    ['start', 'now'],
    ['mta', '--roles', 'all'],
    ['mta', '--role', 'x'],
  ]
  for (const args of wrong) {
    it(`${args.join(' ')} is wrong use: usage on stderr, exit code 2`, () => {
      const { out, err, status } = run(...args)
      assert.strictEqual(status, 2)
      assert.strictEqual(out, '')
      assert.match(err, /Usage: mailstead/)
    })
  }
})
