/**
 * Renders the examples of the chart with helm, checks every object against the schemas of Kubernetes, and compares the
 * result with packaging/helm/rendered; UPDATE=1 writes it. Each file names the checksum of what it was made from, so
 * that a test without helm notices a chart that was changed without it. Needs helm 3.14 or newer (from PATH, or HELM
 * names it), and npm for the schemas.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { chartChecksum, CHART, EXAMPLES, FOLDER, listExamples } from './checksum.mjs'

const RENDERED = join(FOLDER, 'rendered')
const TSC = join(FOLDER, '../../node_modules/.bin/tsc')
const SCHEMAS = 'kubernetes-models@5.1.0'

function render(example) {
  const helm = process.env.HELM ?? 'helm'
  execFileSync(helm, ['lint', '--strict', CHART, '-f', join(EXAMPLES, example)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const text = execFileSync(helm, ['template', 'mailstead', CHART, '-f', join(EXAMPLES, example)], { encoding: 'utf8' })
  const source = `examples/${example}, sha256:${chartChecksum(example)}`
  return `# Rendered from ${source}; packaging/build check-chart writes it.\n${text}`
}

/** Throws for an object that Kubernetes would refuse: a field is missing, has the wrong type or does not exist. */
async function checkObjects(example, text) {
  const objects = parseAllDocuments(text).flatMap((document) => document.toJS() ?? [])
  for (const object of objects) {
    const file = join(schemas, 'node_modules/kubernetes-models', object.apiVersion, `${object.kind}.js`)
    const { [object.kind]: Model } = await import(file)
    try {
      new Model(object).validate()
    } catch (error) {
      throw new Error(`${example}: ${object.kind} ${object.metadata.name}: ${error.message}`, { cause: error })
    }
  }
  checkFields(objects)
}

/** The schemas permit unknown fields; the compiler does not. */
function checkFields(objects) {
  const lines = objects.map(({ apiVersion, kind, ...rest }, index) => {
    const type = `import('kubernetes-models/${apiVersion}').I${kind}`
    return `export const object${index}: ${type} = ${JSON.stringify({ apiVersion, kind, ...rest })}\n`
  })
  writeFileSync(join(schemas, 'objects.ts'), lines.join(''))
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--types',
    '',
  ]
  try {
    execFileSync(TSC, [...options, 'objects.ts'], { cwd: schemas, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    throw new Error(error.stdout, { cause: error })
  }
}

const schemas = mkdtempSync(join(tmpdir(), 'mailstead-schemas-'))
try {
  writeFileSync(join(schemas, 'package.json'), '{"type": "module"}')
  execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', SCHEMAS], { cwd: schemas, stdio: 'ignore' })
  mkdirSync(RENDERED, { recursive: true })
  for (const example of listExamples()) {
    const file = join(RENDERED, example)
    const text = render(example)
    await checkObjects(example, text)
    if (process.env.UPDATE) writeFileSync(file, text)
    else if (readFileSync(file, 'utf8') !== text)
      throw new Error(`${file} is outdated: UPDATE=1 packaging/build check-chart`)
  }
  process.stdout.write(`${listExamples().join(', ')}: valid\n`)
} catch (error) {
  process.stderr.write(`check-chart: ${error.message}\n`)
  process.exitCode = 1
} finally {
  rmSync(schemas, { recursive: true })
}
