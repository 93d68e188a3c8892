export { imports } from '#dashboard/src/texts/en/imports.ts'
