/** Imports of files into a new workspace and audience, and what is stored of them. */
import { Readable } from 'node:stream'
import { assert } from 'chai'
import { createAudience } from '#src/contacts/audiences.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { findImport, listErrors, type Import, type RowError } from './imports.ts'
import type { LayoutOptions } from './column-layout.ts'
import { runImports } from './import-runner.ts'
import { storeUpload } from './upload.ts'

type UploadOptions = Partial<LayoutOptions> & { readonly isDryRun?: boolean }
type UploadFile = string | Buffer | Iterable<Buffer>

export interface ImportBench {
  readonly workspaceId: string
  readonly audienceId: string
  /** The id of the import. */
  upload(file: UploadFile, options?: UploadOptions): Promise<string>
  /** Runs all that wait; the import as it is afterwards. */
  finish(importId: string, sliceMs?: number): Promise<Import>
  run(file: UploadFile, options?: UploadOptions): Promise<Import>
  errorsOf(done: Import): Promise<readonly RowError[]>
  /** All contacts of the workspace, by address. */
  contacts(): Promise<Record<string, unknown>[]>
  emails(): Promise<unknown[]>
}

export const createImportContext = (): Promise<TestContext> =>
  createContext({ MAX_IMPORT_BYTES: String(20 * 1024 * 1024) })

export async function createImportBench(ctx: TestContext): Promise<ImportBench> {
  const workspaceId = await ctx.newWorkspace()
  const { id: audienceId } = await createAudience(
    ctx.db,
    workspaceId,
    { name: 'a', description: null, isDoubleOptIn: false },
    new Date(),
  )

  async function upload(file: UploadFile, options: UploadOptions = {}): Promise<string> {
    const source = Readable.from(
      typeof file === 'string' ? [Buffer.from(file)] : file instanceof Buffer ? [file] : file,
    )
    const stored = await storeUpload(
      ctx,
      { workspaceId, audienceId, isDryRun: false, mapping: {}, unknownColumns: 'ignore', ...options },
      source,
    )
    return stored.kind === 'stored' ? stored.importId : assert.fail(JSON.stringify(stored.refusal))
  }

  async function finish(importId: string, sliceMs = 0): Promise<Import> {
    while (await runImports(ctx, sliceMs)) {
      /* until none waits */
    }
    return (await findImport(ctx.db, workspaceId, importId)) ?? assert.fail('the import is missing')
  }

  const run = async (file: UploadFile, options: UploadOptions = {}): Promise<Import> =>
    finish(await upload(file, options))
  const errorsOf = async (done: Import): Promise<readonly RowError[]> => (await listErrors(ctx.db, done.id)).items

  async function contacts(): Promise<Record<string, unknown>[]> {
    const { rows } = await ctx.db.query(
      sql`
        SELECT c.email, c.first_name, c.last_name, c.tags, c.custom_attributes, m.is_subscribed
        FROM contacts c
        LEFT JOIN memberships m ON m.contact_id = c.id AND m.audience_id = $2
        WHERE c.workspace_id = $1
        ORDER BY c.email
      `,
      [workspaceId, audienceId],
    )
    return rows
  }
  const emails = async (): Promise<unknown[]> => (await contacts()).map(({ email }) => email)
  return { workspaceId, audienceId, upload, finish, run, errorsOf, contacts, emails }
}

export const countsOf = ({
  rowCount,
  added,
  updated,
  joined,
  duplicates,
  failed,
  blocked,
  unsubscribed,
}: Import): object => ({ rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed })
export const NONE = {
  rowCount: 0,
  added: 0,
  updated: 0,
  joined: 0,
  duplicates: 0,
  failed: 0,
  blocked: 0,
  unsubscribed: 0,
}
