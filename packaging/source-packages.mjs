/**
 * Lists the packages that commands and migrations load: `node packaging/source-packages.mjs`. They run from their
 * sources, also in a package (packaging/production.mjs). All others are needed by the roles only, whose bundle contains
 * their code. Rolldown follows the imports of each command, of each migration and of the modules of threads; an import
 * whose name is known at run time only is not followed.
 */
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const { ROLES } = await import(join(ROOT, 'bin/build.mjs'))
const NOT_PACKAGED = /\.test(-data)?\.ts$|\/(?:test|bench|check)\.ts$/
const THREAD = /new URL\('(\.\/[\w-]+\.ts)', import\.meta\.url\)/g

/** Also those of which nothing would be left in a bundle. */
const modules = []
const input = globSync(['bin/commands/*.ts', 'migrations/*.ts'], { cwd: ROOT }).filter(
  (file) => !NOT_PACKAGED.test(file) && !ROLES.some((name) => file === `bin/commands/${name}.ts`),
)
const bundle = await rolldown({ input, cwd: ROOT, platform: 'node', logLevel: 'silent', plugins: [threads()] })
await bundle.generate()
await bundle.close()
const packages = modules.map((file) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
process.stdout.write(`${JSON.stringify([...new Set(packages.filter((name) => name !== undefined))].toSorted())}\n`)

/** Follows the modules of threads, and lists all modules. */
function threads() {
  return {
    name: 'threads',
    generateBundle() {
      modules.push(...this.getModuleIds())
    },
    transform: {
      filter: { id: /\.ts$/, code: THREAD },
      handler(code, id) {
        for (const [, file] of code.matchAll(THREAD)) this.emitFile({ type: 'chunk', id: join(dirname(id), file) })
      },
    },
  }
}
