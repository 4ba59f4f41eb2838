// Finds the checks of a source file: what could be taken out so that bad input passes.
import ts from "typescript-5.9";

const { SyntaxKind } = ts;
const chains = new Set([
  SyntaxKind.QuestionQuestionToken,
  SyntaxKind.BarBarToken,
  SyntaxKind.AmpersandAmpersandToken,
]);

/**
 * Every way to take one check out of `text`: a statement that ends in an error goes, one of several conditions that lead
 * to it becomes `false`, an operand that ends in an error goes (`found ?? fail()` becomes `found`).
 * Each mutant is { start, end, replacement, line, text }.
 */
export function mutantsOf(path, text) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const mutants = [];
  const add = (node, replacement) => {
    const start = node.getStart(file);
    mutants.push({
      start,
      end: node.end,
      replacement,
      line: file.getLineAndCharacterOfPosition(start).line + 1,
      text: text.slice(start, node.end).replace(/\s+/g, " ").slice(0, 120),
    });
  };

  /** Functions of this file that never return, and those that check by throwing. */
  const failing = new Set();
  const find = (node) => {
    if (ts.isFunctionLike(node) && node.name !== undefined) {
      const { type } = node;
      if (type?.kind === SyntaxKind.NeverKeyword) failing.add(node.name.getText(file));
      if (
        type?.kind === SyntaxKind.VoidKeyword &&
        /^(check|expect|refuse)/.test(node.name.getText(file))
      ) {
        failing.add(node.name.getText(file));
      }
    }
    ts.forEachChild(node, find);
  };
  find(file);

  const fails = (node) => {
    if (ts.isCallExpression(node)) {
      const callee = ts.isPropertyAccessExpression(node.expression)
        ? node.expression.name
        : node.expression;
      return (
        ts.isIdentifier(callee) &&
        (failing.has(callee.text) || /^(check|fail)[A-Z]?/.test(callee.text))
      );
    }
    // An error kept for later: `problem ??= …`.
    return (
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === SyntaxKind.QuestionQuestionEqualsToken
    );
  };
  const leadsToError = (node) =>
    ts.isThrowStatement(node) ||
    fails(node) ||
    ts.forEachChild(node, (child) => leadsToError(child) || undefined) === true;

  const visit = (node) => {
    if (ts.isThrowStatement(node) || (ts.isExpressionStatement(node) && fails(node.expression))) {
      add(node, ";");
    } else if (ts.isIfStatement(node) && leadsToError(node.thenStatement)) {
      const parts = operands(node.expression);
      if (parts.length > 1) for (const part of parts) add(part, "false");
    } else if (
      ts.isBinaryExpression(node) &&
      chains.has(node.operatorToken.kind) &&
      fails(node.right)
    ) {
      add(node, node.left.getText(file));
    } else if (ts.isConditionalExpression(node)) {
      if (fails(node.whenTrue)) add(node, node.whenFalse.getText(file));
      if (fails(node.whenFalse)) add(node, node.whenTrue.getText(file));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return mutants;
}

/** The operands of a chain of `||`, each a check of its own. */
function operands(condition) {
  const bare = ts.isParenthesizedExpression(condition) ? condition.expression : condition;
  if (ts.isBinaryExpression(bare) && bare.operatorToken.kind === SyntaxKind.BarBarToken) {
    return [...operands(bare.left), ...operands(bare.right)];
  }
  return [condition];
}
