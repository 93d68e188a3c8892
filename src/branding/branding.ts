/**
 * The branding of a workspace: colours, texts by language and a logo, stored in one row. `Look` is what a page or mail
 * uses: the branding in one language. A workspace without a branding has the default look. If PostgreSQL is away, the
 * pages that need it cannot be shown anyway.
 */
import { createHash } from 'node:crypto'
import type { Config } from '#config/load.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CATALOGUE, chooseLanguage, FALLBACK_LANGUAGE, textsIn, type TextOverrides, type Texts } from './texts.ts'

export interface BrandColours {
  readonly accentColor: string | null
  readonly backgroundColor: string | null
  readonly textColor: string | null
}

export interface Branding extends BrandColours {
  readonly defaultLanguage: string
  readonly texts: TextOverrides
  /** Part of the URL of the logo; null: none. */
  readonly logoDigest: string | null
  readonly logoAlt: string | null
}

const DEFAULT_BRANDING: Branding = {
  accentColor: null,
  backgroundColor: null,
  textColor: null,
  defaultLanguage: FALLBACK_LANGUAGE,
  texts: {},
  logoDigest: null,
  logoAlt: null,
}

/** A branding in one language. */
export interface Look {
  readonly language: string
  readonly texts: Texts
  readonly colours: BrandColours
  readonly logo: { readonly url: string; readonly alt: string } | null
}

export const DEFAULT_LOOK: Look = {
  language: FALLBACK_LANGUAGE,
  texts: textsIn(FALLBACK_LANGUAGE, {}, FALLBACK_LANGUAGE),
  colours: DEFAULT_BRANDING,
  logo: null,
}

const READ = prepared(
  'branding-read',
  sql`
    SELECT accent_color AS "accentColor", background_color AS "backgroundColor", text_color AS "textColor",
      default_language AS "defaultLanguage", texts, logo_digest AS "logoDigest", logo_alt AS "logoAlt"
    FROM brandings
    WHERE workspace_id = $1
  `,
)

export async function readBranding(db: Queryable, workspaceId: string): Promise<Branding> {
  return (await db.query<Branding>(READ, [workspaceId])).rows[0] ?? DEFAULT_BRANDING
}

export interface Visitor {
  /** The contact's language, if it is known. */
  readonly contactLanguage: string | null
  /** The header Accept-Language. */
  readonly accepted: string | undefined
}

export type LogoConfig = Pick<Config, 'hostedMailUrl' | 'publicUrl'>

export function lookOf(config: LogoConfig, workspaceId: string, branding: Branding, visitor: Visitor): Look {
  const { defaultLanguage, texts, logoDigest, logoAlt } = branding
  const language = chooseLanguage({
    ofContact: visitor.contactLanguage,
    accepted: visitor.accepted,
    available: languagesOf(branding),
    byDefault: defaultLanguage,
  })
  const logo = logoDigest === null ? null : { url: logoUrl(config, workspaceId, logoDigest), alt: logoAlt ?? '' }
  return { language, texts: textsIn(language, texts, defaultLanguage), colours: branding, logo }
}

/** The look of the pages of a workspace for a visitor. */
export async function readLook(
  { db, config }: { readonly db: Queryable; readonly config: LogoConfig },
  workspaceId: string,
  { contactLanguage = null, accepted }: Partial<Visitor>,
): Promise<Look> {
  return lookOf(config, workspaceId, await readBranding(db, workspaceId), { contactLanguage, accepted })
}

/** The languages that the pages have. */
export function languagesOf({ texts }: Pick<Branding, 'texts'>): string[] {
  return [...new Set([...Object.keys(CATALOGUE), ...Object.keys(texts)])].toSorted()
}

/** On the origin of hosted mail, which has no cookies and nothing else. */
export function logoUrl({ hostedMailUrl, publicUrl }: LogoConfig, workspaceId: string, digest: string): string {
  return `${hostedMailUrl ?? publicUrl}/v/logos/${workspaceId}/${digest}`
}

const CHANGE = prepared(
  'branding-change',
  sql`
    INSERT INTO brandings AS b (workspace_id, accent_color, background_color, text_color, default_language, texts,
      logo_alt)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (workspace_id)
    DO UPDATE SET accent_color = excluded.accent_color, background_color = excluded.background_color,
      text_color = excluded.text_color, default_language = excluded.default_language, texts = excluded.texts,
      logo_alt = excluded.logo_alt, updated_at = now()
  `,
)

export async function storeBranding(db: Queryable, workspaceId: string, branding: Branding): Promise<void> {
  const { accentColor, backgroundColor, textColor, defaultLanguage, texts, logoAlt } = branding
  const values = [accentColor, backgroundColor, textColor, defaultLanguage, JSON.stringify(texts), logoAlt]
  await db.query(CHANGE, [workspaceId, ...values])
}

export interface Logo {
  readonly content: Buffer
  readonly type: string
}

/** Null removes it. */
export async function storeLogo(db: Queryable, workspaceId: string, logo: Logo | null): Promise<void> {
  const digest = logo === null ? null : createHash('sha256').update(logo.content).digest('hex').slice(0, 32)
  await db.query(
    sql`
      INSERT INTO brandings AS b (workspace_id, logo, logo_type, logo_digest)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (workspace_id)
      DO UPDATE SET logo = excluded.logo, logo_type = excluded.logo_type, logo_digest = excluded.logo_digest,
        updated_at = now()
    `,
    [workspaceId, logo?.content ?? null, logo?.type ?? null, digest],
  )
}

/** The logo with this digest; null if there is none, or it was replaced. */
export async function findLogo(db: Queryable, workspaceId: string, digest: string): Promise<Logo | null> {
  const { rows } = await db.query<Logo>(
    'SELECT logo AS content, logo_type AS type FROM brandings WHERE workspace_id = $1 AND logo_digest = $2',
    [workspaceId, digest],
  )
  return rows[0] ?? null
}
