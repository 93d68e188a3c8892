import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assert } from 'chai'
import { bundleProgram, ownProgram } from './program-bundle.ts'

const ROOT = join(import.meta.dirname, '../..')
const BUILD = join(ROOT, 'bin/build.mjs')
const { buildProgram } = (await import(BUILD)) as {
  readonly buildProgram: () => Promise<{ readonly program: string; readonly isNew: boolean }>
}

describe('the bundle of the program', () => {
  let program: string
  before(async () => {
    program = join(ROOT, (await bundleProgram(BUILD)).program)
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

  it('is Latin-1 text, which V8 holds in half the memory', () => {
    // texts of receivers in other scripts, in templates whose characters cannot be escaped
    const OTHERS = /^(?:forwarded-address|report)-[\w-]+\.js$/
    const wide = globSync('*.js', { cwd: dirname(program) }).filter((name) =>
      /[\u0100-\uffff]/.test(readFileSync(join(dirname(program), name), 'utf8')),
    )
    assert.deepEqual(
      wide.filter((name) => !OTHERS.test(name)),
      [],
      'write characters of tagged templates as entities or escapes',
    )
  })

  it('lets no object inherit from String.prototype, which would make all string code slow', () => {
    const roles = globSync('{api,mta,worker}-*.js', { cwd: dirname(program) }).map((name) =>
      join(dirname(program), name),
    )
    assert.isAtLeast(roles.length, 3)
    const script = `
      for (const role of ${JSON.stringify(roles)}) await import(role)
      process.stdout.write(String(%HasFastProperties(String.prototype)))
      process.exit()`
    const args = ['--allow-natives-syntax', '--input-type=module', '--eval', script]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.strictEqual(stdout, 'true', stderr)
  })

  it('is the own program of a role that runs from it', () => {
    assert.strictEqual(join(ROOT, ownProgram(program)), program)
    assert.strictEqual(ownProgram('/srv/mailstead/bin/mailstead.ts'), 'bin/mailstead.ts')
  })

  describe('with folders of its own', () => {
    const folder = mkdtempSync('/tmp/mailstead-bundle-')
    after(() => rmSync(folder, { recursive: true }))

    const build = (text: string): string => {
      const file = join(folder, 'build.mjs')
      writeFileSync(file, text)
      return file
    }

    it('is replaced by the sources when it cannot be built, which is reported with what to do', async () => {
      for (const [text, reason] of [
        ['import "rolldown-is-missing"', /Cannot find package 'rolldown-is-missing'/],
        ['throw new Error("ENOSPC: no space left on device, write")', /no space left on device/],
        ['process.exit(3)', /It ended with 3\./],
        ['process.kill(process.pid, "SIGKILL")', /It ended with a signal\./],
        ['console.log("/nowhere/bundle/0123/mailstead.js")', /Another process removed it/],
      ] as const) {
        const { program: code, failure } = await bundleProgram(build(text))
        assert.strictEqual(code, 'bin/mailstead.ts')
        assert.match(String(failure), reason)
        assert.match(String(failure), /^warning: .*\n.*start again.*npm ci/)
      }
    })

    it('is built in the environment of the start, with small pages of memory', async () => {
      const { failure } = await bundleProgram(
        build(
          'const { MIMALLOC_ALLOW_THP: pages, PATH } = process.env; throw new Error(`pages ${pages}, ${typeof PATH}`)',
        ),
      )
      assert.include(String(failure), 'pages 0, string')
    })

    it('is that of the package, which contains no program to build it', async () => {
      const code = await bundleProgram(join(folder, 'missing.mjs'))
      assert.deepEqual(code, { program: 'bundle/program/mailstead.js', failure: null })
    })

    it('is built again when another process removes it before this one has noted that it uses it', async () => {
      const bundle = `bundle/.removed-test-${process.pid}`
      const text = `import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
        if (existsSync('${folder}/first')) mkdirSync('${join(ROOT, bundle)}')
        writeFileSync('${folder}/first', '')
        console.log('${join(ROOT, bundle)}/mailstead.js')`
      const code = await bundleProgram(build(text))
      assert.deepEqual(code, { program: `${bundle}/mailstead.js`, failure: null })
      assert.lengthOf(readdirSync(join(ROOT, bundle, 'users')), 1)
      rmSync(join(ROOT, bundle), { recursive: true })
    })
  })
})
