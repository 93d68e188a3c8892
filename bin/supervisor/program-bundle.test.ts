import { spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { assert } from 'chai'
import { bundleProgram, ownProgram } from './program-bundle.ts'

const ROOT = join(import.meta.dirname, '../..')
const BUILD = join(ROOT, 'bin/build.mjs')
const { buildProgram, removeOldBundles } = (await import(BUILD)) as {
  readonly buildProgram: () => Promise<{ readonly program: string; readonly isNew: boolean }>
  readonly removeOldBundles: (folder: string) => void
}

describe('the bundle of the program', () => {
  let program: string
  before(async () => {
    program = join(ROOT, await bundleProgram(BUILD))
  })
  const run = (...args: string[]): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
    return stdout + stderr
  }

  it('is built once for the same sources', async () => {
    assert.deepEqual(await buildProgram(), { program, isNew: false })
  })

  it('runs roles, and other commands from their sources', () => {
    assert.match(run('worker', '--help'), /^Usage: mailstead worker/)
    assert.match(run('link', '--help'), /^Usage: mailstead link/)
    assert.strictEqual(
      run('nope'),
      spawnSync(process.execPath, [join(ROOT, 'bin/mailstead.ts'), 'nope'], { encoding: 'utf8' }).stderr,
    )
  })

  it('contains the module of every thread, and no path that only a source has', () => {
    const urls = globSync('{api,mta,src,worker}/**/*.ts', { cwd: ROOT })
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) =>
        [...readFileSync(join(ROOT, file), 'utf8').matchAll(/new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g)].map(
          ([, name]) => `${dirname(file).replaceAll('/', '-')}-${name}.js`,
        ),
      )
    assert.isAbove(urls.length, 5)
    for (const name of urls) assert.ok(existsSync(join(dirname(program), name)), name)
    const files = globSync('*.js', { cwd: dirname(program) })
    const withPaths = files.filter((name) =>
      /import\.meta\.dirname|\b__dirname\b/.test(readFileSync(join(dirname(program), name), 'utf8')),
    )
    assert.deepEqual(withPaths, [])
  })

  it('finds its files in a folder whose name contains spaces', () => {
    const text = globSync('*.js', { cwd: dirname(program) }).map((name) =>
      readFileSync(join(dirname(program), name), 'utf8'),
    )
    const undecoded = /(?<!decodeURIComponent\()PROGRAM_ROOT\.pathname/
    assert.isAbove(text.filter((one) => one.includes('decodeURIComponent(PROGRAM_ROOT.pathname)')).length, 3)
    assert.deepEqual(
      text.filter((one) => undecoded.test(one)),
      [],
    )
  })

  it('is the own program of a role that runs from it', () => {
    assert.strictEqual(join(ROOT, ownProgram(program)), program)
    assert.strictEqual(ownProgram('/srv/mailstead/bin/mailstead.ts'), 'bin/mailstead.ts')
  })

  describe('with folders of its own', () => {
    const folder = mkdtempSync('/tmp/mailstead-bundle-')
    after(() => rmSync(folder, { recursive: true }))

    it('is replaced by the sources when it cannot be built, or a package has none', async () => {
      writeFileSync(join(folder, 'build.mjs'), 'process.exit(1)')
      assert.strictEqual(await bundleProgram(join(folder, 'build.mjs')), 'bin/mailstead.ts')
      assert.strictEqual(await bundleProgram(join(folder, 'missing.mjs')), 'bin/mailstead.ts')
    })

    it('is removed when it was not used for days', () => {
      const bundles = join(folder, 'bundles')
      for (const [name, days] of [
        ['used', 1],
        ['old', 4],
      ] as const) {
        mkdirSync(join(bundles, name), { recursive: true })
        const time = new Date(Date.now() - days * 86_400_000)
        utimesSync(join(bundles, name), time, time)
      }
      removeOldBundles(bundles)
      assert.deepEqual(readdirSync(bundles), ['used'])
    })
  })
})
