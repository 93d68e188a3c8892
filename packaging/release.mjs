/**
 * Makes a release: `node packaging/release.mjs VERSION` on a clean checkout sets the version, moves "Unreleased" of
 * CHANGELOG.md under it, commits, tags, builds the packages into dist/ and writes beside them SHA256SUMS, the
 * components (CycloneDX 1.6) and a provenance statement (in-toto, SLSA 1.0) with the commit and the hash of each file.
 * RELEASE_KEY names a private key (PEM) that signs SHA256SUMS; without it nothing is signed, and the last line says so.
 * `--describe` does only the part after the build, for files that are in dist/. Nothing is published. A failure before
 * the commit leaves the working tree changed and says how to restore it.
 */
import { execFileSync } from 'node:child_process'
import { createHash, createPublicKey, sign } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const DIST = join(ROOT, 'dist')
const PACKAGE = /^mailstead[-_].*\.(tar\.gz|deb)$/

function main(words) {
  const version = words.find((word) => !word.startsWith('--'))
  const isDescribed = words.includes('--describe')
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/.test(version ?? ''))
    throw new Error('usage: node packaging/release.mjs VERSION [--describe]')
  if (!isDescribed) {
    if (git('status', '--porcelain') !== '') throw new Error('the checkout has changes: commit or stash them first')
    setVersion(version)
    git('commit', '-qam', `release: ${version}`)
    git('tag', '-a', `v${version}`, '-m', `Mailstead ${version}`)
    for (const kind of ['tarball', 'deb'])
      execFileSync(join(ROOT, 'packaging/build'), [kind], { cwd: ROOT, stdio: 'inherit' })
  }
  describeFiles(version)
}

function setVersion(version) {
  const write = (name, change) => {
    const file = join(ROOT, name)
    writeFileSync(file, change(readFileSync(file, 'utf8')))
  }
  const first = (text) => text.replace(/"version": "[^"]+"/, `"version": "${version}"`)
  write('package.json', first)
  // of the root, and of the package '' that stands for it
  write('package-lock.json', (text) =>
    first(text).replace(/("": \{\s+"name": "mailstead",\s+"version": )"[^"]+"/, `$1"${version}"`),
  )
  write('packaging/helm/mailstead/Chart.yaml', (text) =>
    text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`),
  )
  write('CHANGELOG.md', (text) => releaseChangelog(text, version, new Date().toISOString().slice(0, 10)))
}

/** Moves what is unreleased under the version. */
export function releaseChangelog(text, version, day) {
  const [, unreleased = ''] = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text) ?? []
  if (unreleased.trim() === '') throw new Error('CHANGELOG.md has nothing under "Unreleased"')
  return text.replace('## Unreleased\n', () => `## Unreleased\n\n## ${version} - ${day}\n`)
}

function describeFiles(version) {
  mkdirSync(DIST, { recursive: true })
  const files = readdirSync(DIST).filter((name) => PACKAGE.test(name) && name.includes(version))
  if (files.length === 0) throw new Error(`dist/ has no package of ${version}`)
  const write = (name, value) => {
    writeFileSync(join(DIST, name), `${JSON.stringify(value, null, 2)}\n`)
    return name
  }
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const hashed = (names) => names.map((name) => ({ name, sha256: hashOf(readFileSync(join(DIST, name))) }))
  const bom = write(`mailstead-${version}.cdx.json`, listComponents(lock, version))
  const commit = git('rev-parse', 'HEAD')
  const source = { commit, builtAt: new Date().toISOString(), node: process.version }
  const statement = write(`mailstead-${version}.intoto.json`, provenanceOf(hashed([...files, bom]), version, source))
  const sums = hashed([...files, bom, statement])
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`)
    .join('')
  writeFileSync(join(DIST, 'SHA256SUMS'), sums)
  process.stdout.write(sums)
  signSums(sums)
}

const hashOf = (content) => createHash('sha256').update(content).digest('hex')

/** The packages of a production installation, as CycloneDX describes them. */
export function listComponents(lock, version) {
  const components = Object.entries(lock.packages)
    .filter(([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional)
    .map(([path, { version: installed, license, integrity }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      const purl = `pkg:npm/${name.replace('@', '%40')}@${installed}`
      const [algorithm, digest] = (integrity ?? '').split(/-(.*)/s)
      return {
        type: 'library',
        'bom-ref': `${purl}#${path}`,
        name,
        version: installed,
        purl,
        ...(license === undefined ? {} : { licenses: [licenceOf(license)] }),
        ...(algorithm === 'sha512'
          ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
          : {}),
      }
    })
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': 'mailstead', name: 'mailstead', version } },
    components,
    dependencies: [{ ref: 'mailstead', dependsOn: components.map((component) => component['bom-ref']) }],
  }
}

/** `(MIT OR Apache-2.0)` is an expression, `MIT` an identifier. */
const licenceOf = (text) => (/\s/.test(text) ? { expression: text } : { license: { id: text } })

/** An in-toto statement in the form of SLSA: what was built, from which commit, with what. */
export function provenanceOf(files, version, { commit, builtAt, node }) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:mailstead:release:v1',
        externalParameters: { version },
        internalParameters: { node },
        resolvedDependencies: [{ name: 'source', digest: { gitCommit: commit } }],
      },
      runDetails: {
        builder: { id: 'urn:mailstead:packaging/release.mjs' },
        metadata: { finishedOn: builtAt },
      },
    },
  }
}

function signSums(sums) {
  const file = process.env.RELEASE_KEY
  if (file === undefined || file === '') {
    process.stdout.write('Not signed: RELEASE_KEY names no key.\n')
    return
  }
  if (!existsSync(file)) throw new Error(`RELEASE_KEY: ${file} does not exist`)
  const key = readFileSync(file, 'utf8')
  const isEdwards = createPublicKey(key).asymmetricKeyType?.startsWith('ed') === true
  writeFileSync(join(DIST, 'SHA256SUMS.sig'), sign(isEdwards ? null : 'sha256', Buffer.from(sums), key))
  process.stdout.write('Signed: SHA256SUMS.sig.\n')
}

const git = (...words) => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim()

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2))
